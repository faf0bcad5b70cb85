"""The error messages for wrong BUILD files: they are an interface."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("@rules_cc//cc:defs.bzl", "cc_library")
load("//tools/rules:defs.bzl", "bm_exec_env", "bm_export", "bm_firmware", "bm_kernel_library", "bm_library", "bm_model", "bm_model_variant", "bm_run")

def _fails_with_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.expect_failure(env, ctx.attr.message)
    return analysistest.end(env)

_fails_with_test = analysistest.make(
    _fails_with_impl,
    attrs = {"message": attr.string(mandatory = True)},
    expect_failure = True,
)

def _expect(name, message):
    _fails_with_test(
        name = name + "_message_test",
        message = message,
        target_under_test = name,
    )

def _expect_of_model(name, message, **attributes):
    bm_model(name = name, tags = ["manual"], **attributes)
    _fails_with_test(
        name = name + "_message_test",
        message = message,
        target_under_test = name + "._imported",
    )

# bm_model's messages about its attributes; the files need not exist.
_BAD_MODELS = {
    "cases_alone": (
        "set `cases` and `cases_function` together",
        {"cases": "cases.py", "src": "net.onnx"},
    ),
    "cases_and_factory": (
        "leave `cases` out: `factory` returns the cases",
        {"cases": "cases.py", "cases_function": "make", "factory": "make", "src": "model.py"},
    ),
    "factory_of_a_file": (
        "src 'net.tflite': set `factory` for a Python file, and for nothing else",
        {"factory": "make", "src": "net.tflite"},
    ),
    "no_factory": (
        "src 'model.py': set `factory` for a Python file, and for nothing else",
        {"src": "model.py"},
    ),
    "no_saved_model": (
        "src has 2 files: name one file, or the files of one SavedModel folder",
        {"src": ":two_files"},
    ),
    "unknown_kind": (
        "src 'net.h5' is not a kind of model that bmc knows: it may be .gguf, .keras,",
        {"src": "net.h5"},
    ),
}

# Firmware that is refused -> the message, its ISA, the board and environment that it is for, and its models; "" is the
# model of the suite.
_BAD_FIRMWARE = {
    "board_without_unit": (
        "need matrix_unit, which the board qemu_virt_rv64 does not have: build the firmware",
        "rv64gc",
        "//boards/qemu_virt_rv64",
        "//boards/qemu_virt_rv64:scalar",
        ["model_that_needs_a_unit"],
    ),
    "dots_without_zvdot4a8i": (
        "the kernels need zvdot4a8i, which the hart of the environment does not have",
        "rv64gcv_zvl256b_zvdot4a8i",
        "//boards/spike_rv64",
        "//boards/spike_rv64:vlen256",
        [""],
    ),
    "env_without_unit": (
        "the kernel libraries need matrix_unit, which the environment does not have: run",
        "rv64gc",
        "//boards/spike_rv64",
        "//boards/spike_rv64:scalar",
        ["model_that_needs_a_unit"],
    ),
    "halves_without_zvfh": (
        "the kernels need zfh, zvfh, which the hart of the environment does not have",
        "rv64gcv_zfh_zvfh_zvl256b",
        "//boards/qemu_virt_rv64",
        "//boards/qemu_virt_rv64:vlen256",
        [""],
    ),
    "lacks_zvdot4a8i": (
        "needs_zvdot4a8i needs zvdot4a8i, which rv64gcv_zvl256b does not have: build the model for",
        "rv64gcv_zvl256b",
        "//boards/qemu_virt_rv64",
        "//boards/qemu_virt_rv64:vlen256",
        ["model_that_needs_zvdot4a8i"],
    ),
    "packed_without_p": (
        "the kernels need p, which the hart of the environment does not have",
        "rv64gcp",
        "//boards/spike_rv64",
        "//boards/spike_rv64:scalar",
        [""],
    ),
    "rv32imafd": (
        ":rv32imafd: isa = \"rv32imafd\" is unknown: use one of rv32imac, ",
        "rv32imafd",
        "//boards/qemu_virt_rv32",
        "//boards/qemu_virt_rv32:scalar",
        [""],
    ),
    "rv64gcv_zvl333b": (
        ":rv64gcv_zvl333b: isa = \"rv64gcv_zvl333b\" is unknown: use one of rv32imac, ",
        "rv64gcv_zvl333b",
        "//boards/qemu_virt_rv64",
        "//boards/qemu_virt_rv64:vlen256",
        [""],
    ),
    # The mutated model has the same C symbols as its original.
    "same_c_name": (
        "are both `remainder` in C: build one of them under another name",
        "rv64gcv_zvl256b",
        "//boards/qemu_virt_rv64",
        "//boards/qemu_virt_rv64:vlen256",
        ["", ".mutated"],
    ),
    "vlen_too_small": (
        "the kernels need VLEN 256, the environment has 128",
        "rv64gcv_zvl256b",
        "//boards/qemu_virt_rv64",
        "//boards/qemu_virt_rv64:vlen128",
        [""],
    ),
    "wrong_env_board": (
        "built for board qemu_virt_rv64, the environment runs board spike_rv64",
        "rv64gcv_zvl128b",
        "//boards/qemu_virt_rv64",
        "//boards/spike_rv64:vlen128",
        [""],
    ),
    "x86_128": (
        ":x86_128: isa = \"x86_128\" is unknown: use one of rv32imac, ",
        "x86_128",
        "//boards/host_x86_64",
        "//boards/host_x86_64:native",
        [""],
    ),
}

# Firmware for several harts that is refused -> the message, its harts, the board and environment that it is for.
_BAD_HARTS = {
    "env_with_two_harts": (
        "the firmware is for 4 harts, the environment has 2: build it for fewer or run it elsewhere",
        4,
        "//boards/qemu_virt_rv64",
        "two_harts",
    ),
    "harts_of_a_board_with_one": (
        "harts = 2, and the board template has 1: build the image for 1 to 1, or for another board",
        2,
        "//boards/template",
        "//boards/template:qemu",
    ),
    "no_harts": (
        "harts = 0, and the board qemu_virt_rv64 has 8",
        0,
        "//boards/qemu_virt_rv64",
        "//boards/qemu_virt_rv64:vlen256",
    ),
    "too_many_harts": (
        "harts = 9, and the board qemu_virt_rv64 has 8: build the image for 1 to 8, or for another board",
        9,
        "//boards/qemu_virt_rv64",
        "//boards/qemu_virt_rv64:vlen256",
    ),
}

# Export that is refused -> the message, its ISA, and its model; "" is the model of the suite.
_BAD_EXPORTS = {
    "export_of_an_archive": (
        "needs_an_archive needs //tools/rules/tests:archive_of_c, and an export carries sources only: name these in",
        "rv64gcv_zvl256b",
        "model_that_needs_an_archive",
    ),
    "host_export": (
        "isa = \"x86_64\" is not RISC-V: exports are for targets without an operating system",
        "x86_64",
        "",
    ),
}

# Kernel library, a model with which is `model_that_LIBRARY` -> its attributes.
_LIBRARIES = {
    "needs_a_unit": {"devices": ["matrix_unit"]},
    "needs_an_archive": {"deps": ["archive_of_c"]},
    "needs_zvdot4a8i": {"extensions": ["v", "zvdot4a8i"]},
}

def error_tests(*, name, model):
    """Analysis tests of user-facing errors.

    Args:
      name: name of the suite.
      model: a bm_model to build firmware from.
    """
    bm_exec_env(
        name = "env_without_board",
        vlen = 128,
        tags = ["manual"],
    )
    _expect("env_without_board", "set `board`, or a `base` that has one")

    bm_model(name = "Net-v2", src = "net.onnx", tags = ["manual"])
    _expect("Net-v2", "the model's C name would be 'Net_v2': begin the target's name with a lower-case letter")

    bm_firmware(
        name = "good_firmware",
        board = "//boards/qemu_virt_rv64",
        isa = "rv64gcv_zvl256b",
        models = [model],
        run_env = "//boards/qemu_virt_rv64:vlen256",
        tags = ["manual"],
    )
    bm_run(
        name = "run_vlen_too_small",
        exec_env = "//boards/qemu_virt_rv64:vlen128",
        firmware = "good_firmware",
        tags = ["manual"],
    )
    _expect("run_vlen_too_small", "the kernels need VLEN 256, the environment has 128")

    cc_library(
        name = "archive_of_c",
        srcs = ["none.c"],
        tags = ["manual"],
    )
    for library, attributes in _LIBRARIES.items():
        bm_kernel_library(name = library, header = "none.h", matcher = "none.py", **attributes)
        bm_model_variant(name = "model_that_" + library, kernels = [library], model = model)

    for bad, (message, isa, board, env, models) in _BAD_FIRMWARE.items():
        bm_firmware(
            name = bad,
            board = board,
            isa = isa,
            models = [each if each.startswith("model") else model + each for each in models],
            run_env = env,
            tags = ["manual"],
        )
        _expect(bad, message)

    bm_exec_env(
        name = "two_harts",
        base = "//boards/qemu_virt_rv64:vlen256",
        harts = 2,
        tags = ["manual"],
    )
    for bad, (message, harts, board, env) in _BAD_HARTS.items():
        bm_firmware(
            name = bad,
            board = board,
            harts = harts,
            isa = "rv64gcv_zvl256b",
            models = [model],
            run_env = env,
            tags = ["manual"],
        )
        _expect(bad, message)

    for bad, (message, isa, of) in _BAD_EXPORTS.items():
        bm_library(name = bad + "_library", isa = isa, models = [of or model], tags = ["manual"])
        bm_export(name = bad, library = bad + "_library", tags = ["manual"])
        _expect(bad, message)

    native.filegroup(
        name = "two_files",
        srcs = ["net.onnx", "net.tflite"],
        tags = ["manual"],
    )
    for bad, (message, attributes) in _BAD_MODELS.items():
        _expect_of_model(bad, message, **attributes)

    tested = ["Net-v2", "env_without_board", "run_vlen_too_small"]
    for table in (_BAD_EXPORTS, _BAD_FIRMWARE, _BAD_HARTS, _BAD_MODELS):
        tested += table.keys()
    native.test_suite(
        name = name,
        tests = [bad + "_message_test" for bad in tested],
    )
