// Output of the applications.
#ifndef BOARD_H_
#define BOARD_H_

#ifdef __cplusplus
extern "C" {
#endif

void print(const char *text);
void print_number(unsigned number);

#ifdef __cplusplus
}
#endif

#endif  // BOARD_H_
