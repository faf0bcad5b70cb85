#include "board.h"

#include <stdint.h>

static void print_char(char c) { *(volatile uint8_t *)0x10000000 = (uint8_t)c; }

void print(const char *text) {
  while (*text != '\0') print_char(*text++);
}

void print_number(unsigned number) {
  if (number >= 10) print_number(number / 10);
  print_char((char)('0' + number % 10));
}
