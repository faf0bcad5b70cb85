#include <stdlib.h>
int main(int argc, char **argv) {
  (void)argv;
  volatile char *p = malloc(4);
  p[3 + argc] = 1;
  return 0;
}
