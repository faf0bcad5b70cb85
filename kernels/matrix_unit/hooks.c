// Prints what the matrix unit did in a model's first case, beside the records
// of what the hart did.
#include "runtime_bm/app/hooks.h"

#include "kernels/matrix_unit/matrix_unit.h"
#include "runtime_bm/app/console.h"

static matrix_unit_use_t before;

void bm_app_begin(const char *name, const bm_model_t *model) {
  (void)name;
  (void)model;
  before = matrix_unit_use();
}

void bm_app_case(const char *name, const bm_model_t *model,
                 uint32_t case_index) {
  (void)model;
  if (case_index != 0) return;
  const matrix_unit_use_t use = matrix_unit_use();
  bm_text_t line;
  bm_text_clear(&line);
  bm_text_string(&line, name);
  bm_console_field(&line, ": matrix unit busy for ", use.busy - before.busy);
  bm_console_field(&line, " cycles: multiplied in ",
                   use.multiplied - before.multiplied);
  bm_console_field(&line, " and copied in ", use.copied - before.copied);
  bm_console_field(&line, "; instructions of the hart that waited: ",
                   use.waited - before.waited);
  bm_console_write(&line);
}

void bm_app_end(const char *name) { (void)name; }
