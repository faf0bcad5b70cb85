#include <stddef.h>
#include <stdint.h>
int answer(int x);
volatile uint32_t g_result;
void _start(void) { g_result = (uint32_t)answer((int)sizeof(size_t)); }
