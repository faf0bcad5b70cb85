#include <limits.h>
int main(int argc, char **argv) {
  (void)argv;
  volatile int x = INT_MAX;
  x = x + argc;
  return 0;
}
