"""The error messages for wrong BUILD files: they are an interface."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
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
        "src 'net.h5' is not a kind of model that bmc knows: it may be .keras,",
        {"src": "net.h5"},
    ),
}

# ISA that there is no platform for -> a board of that width, and one of its environments.
_UNKNOWN_ISAS = {
    "rv32imafd": ("qemu_virt_rv32", "scalar"),
    "rv64gcv_zvl333b": ("qemu_virt_rv64", "vlen256"),
    "x86_128": ("host_x86_64", "native"),
}

# Firmware that needs a matrix unit -> a board and an environment of which one is without.
_WITHOUT_UNIT = {
    "board_without_unit": ("//boards/qemu_virt_rv64", "//boards/qemu_virt_rv64:scalar"),
    "env_without_unit": ("//boards/spike_rv64", "//boards/spike_rv64:scalar"),
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

    bm_firmware(
        name = "wrong_env_board",
        board = "//boards/qemu_virt_rv64",
        isa = "rv64gcv_zvl128b",
        models = [model],
        run_env = "//boards/spike_rv64:vlen128",
        tags = ["manual"],
    )
    _expect("wrong_env_board", "built for board qemu_virt_rv64, the environment runs board spike_rv64")

    bm_model(name = "Net-v2", src = "net.onnx", tags = ["manual"])
    _expect("Net-v2", "the model's C name would be 'Net_v2': begin the target's name with a lower-case letter")

    bm_firmware(
        name = "vlen_too_small",
        board = "//boards/qemu_virt_rv64",
        isa = "rv64gcv_zvl256b",
        models = [model],
        run_env = "//boards/qemu_virt_rv64:vlen128",
        tags = ["manual"],
    )
    _expect("vlen_too_small", "the kernels need VLEN 256, the environment has 128")

    bm_firmware(
        name = "good_firmware",
        board = "//boards/qemu_virt_rv64",
        isa = "rv64gcv_zvl256b",
        models = [model],
        run_env = "//boards/qemu_virt_rv64:vlen256",
        tags = ["manual"],
    )
    bm_firmware(
        name = "packed_without_p",
        board = "//boards/spike_rv64",
        isa = "rv64gcp",
        models = [model],
        run_env = "//boards/spike_rv64:scalar",
        tags = ["manual"],
    )
    _expect("packed_without_p", "the kernels need p, which the hart of the environment does not have")
    bm_firmware(
        name = "dots_without_zvqdotq",
        board = "//boards/spike_rv64",
        isa = "rv64gcv_zvl256b_zvqdotq",
        models = [model],
        run_env = "//boards/spike_rv64:vlen256",
        tags = ["manual"],
    )
    _expect("dots_without_zvqdotq", "the kernels need zvqdotq, which the hart of the environment does not have")

    bm_firmware(
        name = "halves_without_zvfh",
        board = "//boards/qemu_virt_rv64",
        isa = "rv64gcv_zfh_zvfh_zvl256b",
        models = [model],
        run_env = "//boards/qemu_virt_rv64:vlen256",
        tags = ["manual"],
    )
    _expect("halves_without_zvfh", "the kernels need zfh, zvfh, which the hart of the environment does not have")

    bm_run(
        name = "run_vlen_too_small",
        exec_env = "//boards/qemu_virt_rv64:vlen128",
        firmware = "good_firmware",
        tags = ["manual"],
    )
    _expect("run_vlen_too_small", "the kernels need VLEN 256, the environment has 128")

    for isa, (board, env) in _UNKNOWN_ISAS.items():
        bm_firmware(
            name = isa,
            board = "//boards/" + board,
            isa = isa,
            models = [model],
            run_env = "//boards/{}:{}".format(board, env),
            tags = ["manual"],
        )
        _expect(isa, ":{0}: isa = \"{0}\" is unknown: use one of rv32imac, ".format(isa))

    # The mutated model has the same C symbols as its original.
    bm_firmware(
        name = "same_c_name",
        board = "//boards/qemu_virt_rv64",
        isa = "rv64gcv_zvl256b",
        models = [model, model + ".mutated"],
        run_env = "//boards/qemu_virt_rv64:vlen256",
        tags = ["manual"],
    )
    _expect("same_c_name", "are both `remainder` in C: build one of them under another name")

    bm_library(
        name = "host_library",
        isa = "x86_64",
        models = [model],
        tags = ["manual"],
    )
    bm_export(
        name = "host_export",
        library = "host_library",
        tags = ["manual"],
    )
    _expect("host_export", "isa = \"x86_64\" is not RISC-V: exports are for targets without an operating system")

    bm_kernel_library(
        name = "needs_zvqdotq",
        extensions = ["v", "zvqdotq"],
        header = "none.h",
        matcher = "none.py",
    )
    bm_model_variant(
        name = "model_that_needs_zvqdotq",
        kernels = ["needs_zvqdotq"],
        model = model,
    )
    bm_firmware(
        name = "lacks_zvqdotq",
        board = "//boards/qemu_virt_rv64",
        isa = "rv64gcv_zvl256b",
        models = ["model_that_needs_zvqdotq"],
        run_env = "//boards/qemu_virt_rv64:vlen256",
        tags = ["manual"],
    )
    _expect("lacks_zvqdotq", "needs_zvqdotq needs zvqdotq, which rv64gcv_zvl256b does not have: build the model for")

    bm_kernel_library(
        name = "drives_a_unit",
        devices = ["matrix_unit"],
        header = "none.h",
        matcher = "none.py",
    )
    bm_model_variant(
        name = "model_that_needs_a_unit",
        kernels = ["drives_a_unit"],
        model = model,
    )
    for bad, (board, env) in _WITHOUT_UNIT.items():
        bm_firmware(
            name = bad,
            board = board,
            isa = "rv64gc",
            models = ["model_that_needs_a_unit"],
            run_env = env,
            tags = ["manual"],
        )
    _expect("board_without_unit", "need matrix_unit, which the board qemu_virt_rv64 does not have: build the firmware")
    _expect("env_without_unit", "the kernel libraries need matrix_unit, which the environment does not have: run")

    bm_kernel_library(
        name = "plain_c",
        header = "none.h",
        matcher = "none.py",
    )
    bm_model_variant(
        name = "model_with_library",
        kernels = ["plain_c"],
        model = model,
    )
    bm_library(
        name = "library_with_library",
        isa = "rv64gcv_zvl256b",
        models = ["model_with_library"],
        tags = ["manual"],
    )
    bm_export(
        name = "export_with_library",
        library = "library_with_library",
        tags = ["manual"],
    )
    _expect("export_with_library", "model_with_library calls kernel libraries, which an export cannot carry")

    native.filegroup(
        name = "two_files",
        srcs = ["net.onnx", "net.tflite"],
        tags = ["manual"],
    )
    for bad, (message, attributes) in _BAD_MODELS.items():
        _expect_of_model(bad, message, **attributes)

    native.test_suite(
        name = name,
        tests = [bad + "_message_test" for bad in _BAD_MODELS.keys() + _UNKNOWN_ISAS.keys() + _WITHOUT_UNIT.keys()] + [
            "Net-v2_message_test",
            "env_without_board_message_test",
            "export_with_library_message_test",
            "halves_without_zvfh_message_test",
            "host_export_message_test",
            "lacks_zvqdotq_message_test",
            "packed_without_p_message_test",
            "run_vlen_too_small_message_test",
            "same_c_name_message_test",
            "vlen_too_small_message_test",
            "wrong_env_board_message_test",
        ],
    )
