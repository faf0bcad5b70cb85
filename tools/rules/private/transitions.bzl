"""The platform for each ISA, and the transition to it."""

load("//compiler/bmc:isas.bzl", "ISAS")

ISA_FLAG = "//tools/rules:isa"

# The harts that an image is for; the runtime's own code reads it too.
HARTS_FLAG = "//runtime_bm/harts:count"

# `--board`. No transition changes it: what one makes different from the command line gets folders of its own, and
# models would be imported and compiled again for a board that changes nothing of them. So the files of its images have
# the board in their names (image.bzl).
CHOSEN_BOARD = Label("//boards:board")
NO_BOARD = Label("//boards:none")

_PLATFORMS = "//command_line_option:platforms"

def _platform_of(isa):
    """Returns the platform that C code for `isa` is compiled for.

    The vector extension is not part of the platform: firmware C code never uses it, so that no vector
    instruction can run before the boot check (compiler/bmc/target.py has the kernels' own flags).
    Neither is F on 32 bits, where some harts have it and some do not.
    """
    if isa == "x86_64":
        return Label("//boards:x86_64_linux")
    return Label("//boards:rv{}_none".format(ISAS[isa]["xlen"]))

def vlen_of_isa(isa):
    """Returns the smallest VLEN in bits that `isa` may run on; 0 without a vector unit."""
    return ISAS[isa]["vlen_bits"]

def env_name(vlen, isa):
    """Returns the name that boards give to the emulator of a hart for `isa`.

    Args:
      vlen: VLEN in bits of the hart.
      isa: ISA of the kernels; check_isa() refuses an unknown one.
    """
    extensions = ISAS.get(isa, {}).get("optional", [])
    return "vlen{}".format(vlen) + "".join(["_" + name for name in extensions])

def check_isa(label, isa):
    """Fails when `isa` is not one that kernels are compiled for."""
    if isa not in ISAS:
        fail("{}: isa = \"{}\" is unknown: use one of {}".format(label, isa, ", ".join(sorted(ISAS))))

def _isa_of_c(isa):
    """Returns the ISA that stands for all those with the same platform."""
    return {"rv32": "rv32imac", "x86_": "x86_64"}.get(isa[:4], "rv64gc")

def _isa_transition_impl(_settings, attr):
    isa = attr.isa
    if isa not in ISAS:
        # The rule refuses it (check_isa), under its own name. It gets there with an ISA of the same width:
        # Bazel would refuse a board that does not suit the platform before.
        isa = _isa_of_c(isa)
    return {
        _PLATFORMS: str(_platform_of(isa)),
        ISA_FLAG: isa,
        HARTS_FLAG: getattr(attr, "harts", 1),
    }

isa_transition = transition(
    implementation = _isa_transition_impl,
    inputs = [],
    outputs = [_PLATFORMS, ISA_FLAG, HARTS_FLAG],
)

def _c_transition_impl(settings, _attr):
    # C of firmware depends on the platform and the number of harts alone, so images for different ISAs share it.
    return {ISA_FLAG: _isa_of_c(settings[ISA_FLAG])}

c_transition = transition(
    implementation = _c_transition_impl,
    inputs = [ISA_FLAG],
    outputs = [ISA_FLAG],
)

def _board_platform_transition_impl(settings, attr):
    # An image's configuration already has the platform of its ISA, which must suit the board. Elsewhere the
    # board is only asked what it is.
    ours = [_platform_of(isa) for isa in ISAS]
    current = settings[_PLATFORMS]
    return {_PLATFORMS: str(current[0] if current and current[0] in ours else attr.platform)}

board_platform_transition = transition(
    implementation = _board_platform_transition_impl,
    inputs = [_PLATFORMS],
    outputs = [_PLATFORMS],
)

_FEATURES = "//command_line_option:features"

def _import_transition_impl(_settings, _attr):
    # Any fixed configuration works: an import is the same for every ISA and number of harts and with
    # sanitizers, and runs once. (The exec configuration is not fixed: it keeps the value of ISA_FLAG.)
    return {
        _PLATFORMS: str(_platform_of("x86_64")),
        _FEATURES: [],
        ISA_FLAG: "x86_64",
        HARTS_FLAG: 1,
    }

import_transition = transition(
    implementation = _import_transition_impl,
    inputs = [],
    outputs = [_PLATFORMS, _FEATURES, ISA_FLAG, HARTS_FLAG],
)

# The machine that builds.
_HOST_PLATFORM = "//command_line_option:host_platform"
_COMPILATION_MODE = "//command_line_option:compilation_mode"

def _question_transition_impl(settings, _attr):
    # A board is asked what it is outside of any image, whose platform need not suit it.
    return {_PLATFORMS: str(settings[_HOST_PLATFORM])}

question_transition = transition(
    implementation = _question_transition_impl,
    inputs = [_HOST_PLATFORM],
    outputs = [_PLATFORMS],
)

def _tool_transition_impl(settings, _attr):
    # A program of the build is one program. `exec` would keep the values of our flags, and so make another one for each
    # ISA and number of harts.
    return {
        _PLATFORMS: str(settings[_HOST_PLATFORM]),
        _COMPILATION_MODE: "opt",
        _FEATURES: [],
        ISA_FLAG: "x86_64",
        HARTS_FLAG: 1,
    }

tool_transition = transition(
    implementation = _tool_transition_impl,
    inputs = [_HOST_PLATFORM],
    outputs = [_PLATFORMS, _COMPILATION_MODE, _FEATURES, ISA_FLAG, HARTS_FLAG],
)

def _any_isa_transition_impl(_settings, _attr):
    return {ISA_FLAG: "x86_64", HARTS_FLAG: 1}

any_isa_transition = transition(
    implementation = _any_isa_transition_impl,
    inputs = [],
    outputs = [ISA_FLAG, HARTS_FLAG],
)
