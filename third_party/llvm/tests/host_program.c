#include <stdio.h>
int answer(int x);
int main(void) {
  printf("%d\n", answer(7));
  return answer(7) == 42 ? 0 : 1;
}
