// Console protocol, version 1: how firmware reports what happened to a program.
// The parser is tools/run/result.py.
//
// A record is one ASCII line that begins with "BM1 ", at most 255 characters
// long, ending in "\n". Every other line is free text for people. Fields are
// `key=value` separated by one space, in this order:
//
//   BM1 BOOT isa=<isa> vlen=<bits of this hart> board=<board>
//   BM1 MODEL name=<name>
//   BM1 CASE index=<n> result=<ok|mismatch> max_abs=<float> differing=<n>
//       cosine=<float|-> hash=<16 hex>
//   BM1 DISPATCH index=<n> instret=<n>[ cycles=<n>][ busy=<n> waited=<n>]
//       [ harts=<n,...>]
//   BM1 BARRIER instret=<n>
//   BM1 DEVICE busy=<n> waited=<n>
//   BM1 KERNEL index=<n> result=<ok|mismatch> max_abs=<float> differing=<n>
//       plain=<n> library=<n> plain_cycles=<n> library_cycles=<n>
//   BM1 STATS instret=<n> cycles=<n> arena=<bytes> stack=<bytes>
//       walker=<n|-> workgroup=<n|->
//   BM1 ACCURACY correct=<n> total=<n> framework=<n>
//   BM1 HASH <16 hex>
//   BM1 TRAP cause=<hex> epc=<hex> tval=<hex> model=<name|-> dispatch=<n|->
//       kernel=<name|->[ hart=<n>]
//   BM1 ERROR status=<8 hex> <text to the end of the line>
//   BM1 SERVICE models=<n>
//   BM1 PASS cases=<n>
//   BM1 FAIL cases=<n> bad=<n> models=<name,...>
//
// BOOT      the first record. isa is the image's; vlen is this hart's, read
//           from its own register.
// MODEL     the next model of the image begins; the records that follow, up
//           to HASH, are about it.
// CASE      one golden case. max_abs: largest |got - want| over all outputs;
//           differing: number of unequal elements over all outputs; cosine:
//           smallest over the rows of outputs that ask for it; hash: FNV-1a 64
//           of all output bytes in order.
// DISPATCH  profile firmware only: instructions and cycles of command `index`
//           of the plan in the first case's run.
//           With devices beside the hart, it is of a run in which the hart
//           waits for them after each command: instret without waiting, cycles
//           in which they were busy, and instructions that only waited.
//           With several harts, of another such run: instret is the sum of
//           what each of them spent on its part (harts), without waiting.
// BARRIER   profile firmware for several harts only: all met, and the last one
//           to come spent these instructions there. The DISPATCH records since
//           the BARRIER before it are what ran side by side.
// DEVICE    profile firmware with devices only: of the first case's run that
//           STATS counts, cycles in which they were busy, and instructions of
//           the hart that only waited for them.
// KERNEL    kernel_check firmware only: command `index` of the plan, computed
//           by a kernel library and by IREE's kernel from the same numbers: how
//           the results differ, as in CASE, and instructions and cycles of
//           either (0: this machine cannot count).
// STATS     instret and cycles of the first case's run (0: this machine cannot
//           count), of several harts those of hart 0, which also waits; arena
//           of the plan; stack high-water mark since boot (0: unknown). Profile
//           firmware only: neither counts what the DISPATCH records take; the
//           runtime's own instructions per dispatch of one workgroup (walker)
//           and per additional workgroup (workgroup), not counting kernels.
// ACCURACY  only when the cases have labels: argmax of output 0 against them.
//           The result is FAIL unless the target classifies as many cases
//           correctly as the framework.
// HASH      FNV-1a 64 of the cases' hashes as little-endian 64-bit words.
// TRAP      an exception (on a host, a signal). `dispatch` is the index of the
//           command that was running in the plan of `model`; in a model with
//           loops, or with commands beside a device, the one after the last
//           that ended. `kernel` is the dispatch function that contains epc.
//           `hart`, from 0, is in images for several harts.
// ERROR     the model did not run. tools/run/decode_status explains the word.
// SERVICE   service firmware only: it waits for requests
//           (runtime_bm/app/service.h), and writes nothing after this but
//           answers and the records of a failure.
// PASS/FAIL the last record, about all models. FAIL lists the models at fault.
//           Exit status 0 follows PASS and nothing else.
//
// A test passes if there is a PASS record, the exit status is 0, there is no
// TRAP or ERROR record, and no record since BOOT contradicts PASS. An
// application with its own main needs no PASS record (bm_firmware's `expect`).
#ifndef RUNTIME_BM_BASE_RESULT_H_
#define RUNTIME_BM_BASE_RESULT_H_

#define BM_RESULT_PREFIX "BM1 "

// Exit statuses of firmware besides 0.
enum {
  BM_EXIT_FAIL = 1,   // a case did not match
  BM_EXIT_ERROR = 2,  // an ERROR record says why nothing ran
  BM_EXIT_TRAP = 3,   // a TRAP record
};

#endif  // RUNTIME_BM_BASE_RESULT_H_
