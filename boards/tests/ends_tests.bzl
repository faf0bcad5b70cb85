"""ends_tests, fault_tests: firmware of //runtime_bm/testing/firmwares ends in every possible way, on emulated boards."""

load("//tools/rules:defs.bzl", "bm_exec_env", "bm_image", "bm_runs", "bm_runs_test")
load("//tools/rules:exhaustive.bzl", "EXHAUSTIVE")

# Firmware -> how it ends, and what its record says. Startup, traps, console and exit are code of the board, so these
# run on every board. `dispatch=-` is initialized data: it is right only if startup copied it.
_ENDS = {
    "fail": ("FAIL", "cases=2 bad=2 models=fake"),
    "pass": ("PASS", ""),
    "stack_overflow": ("TRAP", "model=- dispatch=-"),
    "trap": ("TRAP", "cause=2"),
}

# Without PMP the guard below the stack cannot be enforced: an overrun is found when main returns.
_UNGUARDED = ("ERROR", "stack overflow: the guard below the stack was")

# The real application with the fake model, and other firmware that depends on no code of a board.
_FAULTS = {
    "fail_second": ("FAIL", "cases=6 bad=2 models=second"),
    "profile": ("PASS", ""),
    "trap_kernel": ("TRAP", "model=fake dispatch=2 kernel=fake_multiply"),
    "trap_second": ("TRAP", "model=second dispatch=1 kernel=-"),
    "walker": ("PASS", ""),
    "wrong_accuracy": ("FAIL", "cases=2 bad=0 models=fake"),
    "wrong_extension": ("ERROR", "the kernels are built for rv64gcn and this hart is"),
}

# An image that claims to need VLEN 256: test -> VLEN of the hart, and how it ends there.
_VLENS = {
    "right_vlen": (256, ("PASS", "")),
    "wrong_vlen": (128, ("ERROR", "the kernels are built for rv64gcv_zvl256b (VLEN >= 256) and this hart is")),
}

# Each width and each emulator once, and the other boards of these widths, which have the same code.
_FEW = {"rv32imac": ["qemu_virt_rv32:vlen256"], "rv64gc": ["spike_rv64:qemu_vlen256", "spike_rv64:vlen256"]}
_OTHERS = {"rv32imac": ["spike_rv32:vlen256"], "rv64gc": ["qemu_virt_rv64:vlen256"]}

# Boards whose code for startup, console and exit differs; supervisor mode cannot protect the guard below the stack.
_MORE = {"rv32imac": ["hifive1_revb:qemu"], "rv64gc": ["qemu_sifive_u:qemu", "qemu_virt_rv64_flash:qemu", "template:qemu"]}
_SUPERVISOR = {"rv64gc": ["qemu_virt_rv64_smode:scalar", "qemu_virt_rv64_smode:vlen256"]}

def _ends(name, firmware, on, end, **kwargs):
    """Makes `<name>_test`: a firmware ends like this in all these places."""
    expect, text = end
    bm_runs(
        name = name,
        testonly = True,
        deps = ["//runtime_bm/testing/firmwares:" + firmware],
        expect = expect,
        on = on,
        text = text,
        **kwargs
    )

def _joined(first, second):
    return {isa: first.get(isa, []) + second.get(isa, []) for isa in first | second}

def ends_tests(*, name, guarded, unguarded):
    """Makes `<firmware><name>_test`: boards handle every way firmware can end.

    Args:
      name: what the names of the tests end in.
      guarded: dict from an ISA without vectors to places, as in bm_runs.
      unguarded: the same of harts that cannot protect the guard below the stack.
    """
    for firmware, end in _ENDS.items():
        on = guarded if firmware == "stack_overflow" else _joined(guarded, unguarded)
        _ends(firmware + name, firmware, on, end)
    _ends("stack_overflow_unguarded" + name, "stack_overflow", unguarded, _UNGUARDED)

def fault_tests(*, name):
    """Makes `<firmware>_on_boards_test`, and `<firmware>_on_other_boards_test` of what is left to `//:exhaustive`.

    Args:
      name: unused; the tests are named after their firmware.
    """
    for firmware, end in (_ENDS | {"stack_overflow": ("TRAP", "cause=7")}).items():
        _ends(firmware + "_on_boards", firmware, _joined(_FEW, _OTHERS), end)
    ends_tests(name = "_on_more_boards", guarded = _MORE, unguarded = _SUPERVISOR)
    for firmware, end in _FAULTS.items():
        _ends(firmware + "_on_boards", firmware, _FEW, end)
        _ends(firmware + "_on_other_boards", firmware, _OTHERS, end, tags = EXHAUSTIVE)
    for test, (vlen, end) in _VLENS.items():
        few = ["spike_rv64:qemu_vlen{}".format(vlen), "spike_rv64:vlen{}".format(vlen)]
        others = ["qemu_virt_rv64:vlen{}".format(vlen)]
        _ends(test + "_on_boards", "wrong_vlen", {"rv64gcv_zvl256b": few}, end)
        _ends(test + "_on_other_boards", "wrong_vlen", {"rv64gcv_zvl256b": others}, end, tags = EXHAUSTIVE)

def machine_tests(*, name):
    """Makes tests of machines that are not what the board says.

    Args:
      name: unused; the tests are named after what is wrong.
    """
    bm_runs_test(
        name = "stack_overflow_no_pmp",
        testonly = True,
        expect = _UNGUARDED[0],
        firmwares = {"stack_overflow_on_boards._qemu_virt_rv64": ["//boards/qemu_virt_rv64:no_pmp"]},
        text = _UNGUARDED[1],
    )

    # Its memory ends within the image's stack.
    bm_exec_env(
        name = "template_little_memory",
        args = ["-m", "64K"],
        base = "//boards/template:qemu",
    )
    bm_runs_test(
        name = "little_memory",
        testonly = True,
        expect = "TRAP",
        firmwares = {"pass_on_more_boards._template": [":template_little_memory"]},
        text = "cause=7",
    )
    bm_image(
        name = "wrong_timebase._image",
        testonly = True,
        board = "//boards/tests/wrong_timebase:qemu_virt_rv64",
        isa = "rv64gc",
        tags = ["manual"],
        deps = ["//runtime_bm/testing/firmwares:pass"],
    )
    bm_runs_test(
        name = "wrong_timebase",
        testonly = True,
        expect = "ERROR",
        firmwares = {"wrong_timebase._image": ["//boards/qemu_virt_rv64:vlen256"]},
        text = "whose timer ticks at 1000000 Hz, and this machine's at 10000000",
    )
