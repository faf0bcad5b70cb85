"""The providers of Ironcast's rules. Every field is documented here and nowhere else."""

BmModelInfo = provider(
    doc = "A model compiled for one ISA.",
    fields = {
        "isa": "string: ISA the kernels were compiled for, e.g. `rv64gcv_zvl256b`.",
        "c_name": "string: prefix of every C symbol the model defines.",
        "kernels": "string: `prelinked`, or `loaded` at run time.",
        "devices": "list of string: devices that its kernel libraries need, such as `matrix_unit`.",
        "libraries": "list of BmKernelLibraryInfo: the kernel libraries that it calls.",
        "header": "string: header that C code includes to use the model.",
        "report": "File: the compiler's report.json (dispatch table, sizes, flags, hashes).",
        "files": "dict from file name to File: everything bmc wrote.",
        "code": "File: what the code of its kernels shows (tools/report/bench/audit.py).",
        "fits": "File: stamp that exists only if the target would accept the model.",
        "outputs": "CcCompilationOutputs: plan, kernels and golden data, compiled; the same for other weights.",
        "cc_info": "CcInfo: plan, kernels, weights and golden data, ready to link.",
    },
)

BmKernelLibraryInfo = provider(
    doc = "Functions that take the place of a model's kernels.",
    fields = {
        "archives": "list of string: labels of the targets whose archives they need, beside the runtime.",
        "cc_info": "CcInfo: the functions.",
        "copts": "list of string: more compiler options for the sources.",
        "devices": "list of string: devices that they need.",
        "extensions": "list of string: RISC-V extensions that they need.",
        "header": "string: how C includes their declarations.",
        "matcher": "File: Python that says which dispatches they take.",
        "name": "string: label, for messages.",
        "sources": "list of File: C, C++ and assembly.",
    },
)

BmTunableInfo = provider(
    doc = "What a search for a model's tuning.json compiles.",
    fields = {
        "core": "string: as of bm_model.",
        "float_parts": "dict from string to string: parts of an int8 model that use floating point, and why.",
        "imported": "File: directory of the imported model, as in BmImportInfo.",
        "optimized": "File: directory of the optimized model, as in BmImportInfo.",
        "ram": "int: as of bm_model.",
        "stored_weights": "string: as of bm_model.",
        "tuning": "File: the model's tuning.json; None if it has none.",
    },
)

BmLibraryInfo = provider(
    doc = "Models and the runtime for one ISA, to be linked into an application.",
    fields = {
        "isa": "string: ISA of the kernels.",
        "models": "list of BmModelInfo.",
    },
)

BmImportInfo = provider(
    doc = "A model imported from its framework; the same for every ISA.",
    fields = {
        "arguments": "list of string: what `importer` was called with, by the paths of runfiles, without `--out`.",
        "directory": "File: directory with the MLIR, the inputs and the framework's own outputs.",
        "importer": "FilesToRunProvider: bmc with the model's framework.",
        "importer_runfiles": "runfiles: what it needs.",
        "optimized": "File: directory with the model as it is compiled further for each ISA.",
        "sources": "depset of File: the model's source and what it reads.",
    },
)

BmBoardInfo = provider(
    doc = "A board: where memory is, which hart it has, and the code that drives it.",
    fields = {
        "name": "string: the board's folder name.",
        "isa": "string: ISA of the kernels of a suite that is built for this board by `--board`.",
        "exec_env": "BmExecEnvInfo: where a suite's `X.debug` runs; None on a real board, reached by its probe.",
        "devices": "dict from string to string: addresses of the devices that kernel libraries may use; empty if the HAL has it.",
        "platform": "Label: platform the firmware is compiled for.",
        "description": "File: board.json.",
        "flash_files": "list of File: files that flashing reads besides board.json.",
        "harts": "int: its harts that an image may be for.",
        "flash_image": "bool: whether images are also made as the contents of the whole flash chip.",
        "linker_script": "File: the runtime's sections over the board's memory. None on a hosted board.",
        "note": "CcCompilationOutputs: the note of an image without models (image_note.bzl).",
        "hal": "CcInfo: implementation of runtime_bm/hal/hal.h.",
        "weights_apart": "bool: whether the weights have a memory, and a raw file, of their own.",
    },
)

BmExecEnvInfo = provider(
    doc = "An execution environment: one way to run a board's firmware.",
    fields = {
        "board": "string: name of the board whose firmware it runs.",
        "bios": "File: what the machine runs before the firmware; None if nothing.",
        "cycles_of": "string: the hardware whose cycles it counts; empty for an emulator, which has none.",
        "devices": "list of string: those of the board's devices that it has.",
        "extensions": "list of string: extensions of its hart that not all with its base have, such as `zvfh`.",
        "harts": "int: its harts; 0 for as many as the image is for.",
        "hart_args": "list of string: more arguments for several harts, before the others; `{harts}` is their number.",
        "vlen": "int: VLEN in bits of its hart; 0 without a vector unit.",
        "emulator": "FilesToRunProvider: program that runs the firmware; None runs the firmware itself.",
        "args": "list of string: arguments; `{elf}` stands for the firmware, `{flash}` for its flash image.",
        "debug_args": "list of string: more arguments, to wait for gdb at `{socket}` or for OpenOCD at " +
                      "`{port}`; empty if it cannot wait.",
        "plugins": "list of BmEmulatorPluginInfo: what the emulator loads when it starts.",
        "pace": "string: where firmware runs and how long that takes, for progress messages; may be empty.",
        "path_tools": "list of FilesToRunProvider: programs the emulator looks for on PATH.",
        "runfiles": "runfiles: files that emulator and path_tools need.",
        "deadline_seconds": "int: seconds after which a run has failed.",
        "tags": "list of string: tags of every test that runs here.",
        "command": "function(env, elf, flash, harts) -> list: the command line; `elf` and `flash` are the " +
                   "paths of the firmware and of its flash image, the latter empty if there is none; `harts` those " +
                   "that the firmware is for.",
    },
)

BmEmulatorPluginInfo = provider(
    doc = "What an emulator loads when it starts: a model of instructions or devices.",
    fields = {
        "args": "list of string or File: arguments of the emulator that load it.",
        "clock": "string: what a cycle of its devices is, and how many they take; empty without devices.",
        "library": "File: what it loads.",
    },
)

BmFirmwareInfo = provider(
    doc = "A linked firmware image.",
    fields = {
        "elf": "File: the image with symbols.",
        "flash": "File: contents of the board's whole flash chip; None where `flash_image` is not set.",
        "board": "BmBoardInfo: the board it was linked for.",
        "calls_libraries": "bool: whether kernel libraries compute any of its models.",
        "devices": "list of string: devices that its kernel libraries need.",
        "expect": "string: how a good run ends, PASS or EXIT.",
        "harts": "int: harts that run its models.",
        "isa": "string: ISA of its kernels.",
        "vlen": "int: smallest VLEN in bits it may run on; 0 without vectors.",
        "model_codes": "list of File: what the code of each model's kernels shows.",
        "model_reports": "list of File: the compiler's report of every model in it.",
        "report": "File: report.json of the whole image; None without a model.",
    },
)

BmServiceInfo = provider(
    doc = "Service firmware and where it runs: a program on this machine talks to it (tools/service/service.py).",
    fields = {
        "runfiles": "runfiles: the session, the firmware's image, and what runs it on this machine.",
        "session": "File: JSON for tools/service/sessions.py.",
    },
)

BmRunInfo = provider(
    doc = "One recorded run of a firmware in an execution environment.",
    fields = {
        "clocks": "list of string: those of the devices in the environment.",
        "cycles_of": "string: the hardware whose cycles it counted; empty for none.",
        "expect": "string: how a good run of this firmware ends, PASS or EXIT.",
        "model_reports": "list of File: the compiler's report of every model that ran.",
        "record": "File: JSON with the exit status and the console lines.",
    },
)
