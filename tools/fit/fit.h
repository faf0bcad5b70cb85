// What a model provides to fit.c; tools/rules/private/fit.bzl generates it.
#ifndef TOOLS_FIT_FIT_H_
#define TOOLS_FIT_FIT_H_

#include "runtime_bm/plan/plan.h"

extern const bm_plan_t *const fit_plan;

#endif  // TOOLS_FIT_FIT_H_
