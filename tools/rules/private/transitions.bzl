"""The platform for each ISA, and the transition to it."""

ISA_FLAG = "//tools/rules:isa"

# The board that `X.flash` chooses. Compilation does not depend on it, so nothing is compiled twice.
_BOARD_FLAG = "//boards:board"

# ISA -> platform. The vector extension is not part of the platform: firmware C code never uses it,
# so that no vector instruction can run before the boot check (see compiler/bmc/target.py for the
# kernels' own flags). Neither is F on 32 bits, where some harts have it and some do not.
PLATFORM_OF_ISA = {
    "rv32imac": "//boards:rv32_none",
    "rv32imafc_zve32f_zvl128b": "//boards:rv32_none",
    "rv64gc": "//boards:rv64_none",
    "rv64gcv_zvl1024b": "//boards:rv64_none",
    "rv64gcv_zvl128b": "//boards:rv64_none",
    "rv64gcv_zvl256b": "//boards:rv64_none",
    "rv64gcv_zvl512b": "//boards:rv64_none",
    "x86_64": "//boards:x86_64_linux",
}

def vlen_of_isa(isa):
    """Returns the smallest VLEN in bits that `isa` may run on; 0 without a vector unit."""
    if "_zvl" not in isa:
        return 0
    return int(isa.split("_zvl")[1].removesuffix("b"))

def check_isa(label, isa):
    """Fails when `isa` is not one that there is a platform for."""
    if isa not in PLATFORM_OF_ISA:
        fail("{}: isa = \"{}\" is unknown: use one of {}".format(
            label,
            isa,
            ", ".join(sorted(PLATFORM_OF_ISA)),
        ))

def _isa_transition_impl(_settings, attr):
    isa = attr.isa
    if isa not in PLATFORM_OF_ISA:
        # The rule refuses it (check_isa), under its own name. It gets there with an ISA of the same width:
        # Bazel would refuse a board that does not suit the platform before.
        isa = {"rv32": "rv32imac", "x86_": "x86_64"}.get(isa[:4], "rv64gc")
    return {
        "//command_line_option:platforms": PLATFORM_OF_ISA[isa],
        ISA_FLAG: isa,
        _BOARD_FLAG: "",
    }

isa_transition = transition(
    implementation = _isa_transition_impl,
    inputs = [],
    outputs = ["//command_line_option:platforms", ISA_FLAG, _BOARD_FLAG],
)

_FEATURES = "//command_line_option:features"

def _import_transition_impl(_settings, _attr):
    # Any fixed configuration works: an import is the same for every ISA and with sanitizers, and runs
    # once. (The exec configuration is not fixed: it keeps the value of ISA_FLAG.)
    return {
        "//command_line_option:platforms": "//boards:x86_64_linux",
        _FEATURES: [],
        ISA_FLAG: "x86_64",
        _BOARD_FLAG: "",
    }

import_transition = transition(
    implementation = _import_transition_impl,
    inputs = [],
    outputs = ["//command_line_option:platforms", _FEATURES, ISA_FLAG, _BOARD_FLAG],
)

def _any_isa_transition_impl(_settings, _attr):
    return {ISA_FLAG: "x86_64", _BOARD_FLAG: ""}

any_isa_transition = transition(
    implementation = _any_isa_transition_impl,
    inputs = [],
    outputs = [ISA_FLAG, _BOARD_FLAG],
)
