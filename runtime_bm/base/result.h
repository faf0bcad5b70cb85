// Console protocol, version 1: how a firmware tells a machine what happened.
// The parser is tools/emulate/result.py.
//
// A record is one ASCII line that begins with "BM1 ", at most 255 characters
// long, ending in "\n". Every other line is free text for people. Fields are
// `key=value` separated by one space, in this order:
//
//   BM1 BOOT isa=<isa> vlen=<bits of this hart> board=<board>
//   BM1 MODEL name=<name>
//   BM1 CASE index=<n> result=<ok|mismatch> max_abs=<float> differing=<n>
//       cosine=<float|-> hash=<16 hex>
//   BM1 DISPATCH index=<n> instret=<n>
//   BM1 STATS instret=<n> cycles=<n> arena=<bytes> stack=<bytes>
//       walker=<n|-> workgroup=<n|->
//   BM1 ACCURACY correct=<n> total=<n> framework=<n>
//   BM1 HASH <16 hex>
//   BM1 TRAP cause=<hex> epc=<hex> tval=<hex> model=<name|-> dispatch=<n|->
//       kernel=<name|->
//   BM1 ERROR status=<8 hex> <text to the end of the line>
//   BM1 PASS cases=<n>
//   BM1 FAIL cases=<n> bad=<n> models=<name,...>
//
// BOOT      first record. isa is the image's; vlen is this hart's, read from
//           its own register.
// MODEL     the next model of the image begins; the records that follow, down
//           to HASH, are about it.
// CASE      one golden case. max_abs: largest |got - want| over all outputs;
//           differing: how many elements of all outputs are not equal;
//           cosine: smallest over the rows of outputs that ask for it; hash:
//           FNV-1a 64 of all output bytes in order.
// DISPATCH  profile firmware only: instructions of command `index` of the plan
//           in the first case's run.
// STATS     instret and cycles of the first case's run (0: this machine cannot
//           count); arena of the plan; stack high-water mark since boot (0:
//           not known). Profile firmware only: the runtime's own
//           instructions per dispatch of one workgroup (walker) and for each
//           workgroup more (workgroup), kernels not counted.
// ACCURACY  only when the cases have labels: argmax of output 0 against them.
//           The target must classify as many right as the framework, or FAIL.
// HASH      FNV-1a 64 of the cases' hashes as little-endian 64-bit words.
// TRAP      an exception (on a host, a signal); `dispatch` is the index of the
//           command that was running in the plan of `model` (of a model with
//           loops, the one after the last that ended), `kernel` the dispatch
//           function that epc lies in.
// ERROR     the model did not run. tools/status/decode.py explains the word.
// PASS/FAIL the last record, about all models: FAIL lists those to blame. Exit
//           status 0 follows PASS and nothing else.
//
// A test passes when there is a PASS record and exit status 0 and neither TRAP
// nor ERROR.
#ifndef RUNTIME_BM_BASE_RESULT_H_
#define RUNTIME_BM_BASE_RESULT_H_

#define BM_RESULT_PREFIX "BM1 "

// Exit statuses of a firmware besides 0.
enum {
  BM_EXIT_FAIL = 1,   // a case did not match
  BM_EXIT_ERROR = 2,  // an ERROR record says why nothing ran
  BM_EXIT_TRAP = 3,   // a TRAP record
};

#endif  // RUNTIME_BM_BASE_RESULT_H_
