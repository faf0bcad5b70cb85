"""Arguments that every QEMU environment passes to the emulator, for any machine."""

load("//tools/rules:defs.bzl", "bm_exec_env")

# No QEMU firmware, console on standard output, and -icount, so that `minstret` counts
# instructions instead of host time.
QEMU_ARGS = [
    "-bios",
    "none",
    "-nographic",
    "-monitor",
    "none",
    "-icount",
    "shift=0",
]

# What Bazel shows while firmware runs. BERT, 83 million instructions, took 12 s and 94 s on busy cores.
QEMU_PACE = "in QEMU (about 15 s for 100 million instructions)"
SPIKE_PACE = "on Spike (a minute or two for 100 million instructions)"

# How QEMU waits for gdb.
QEMU_DEBUG_ARGS = [
    "-S",
    "-gdb",
    "unix:{socket},server=on,wait=off",
]

def qemu_cpu32(vlen):
    """Returns the arguments for a 32-bit hart: rv32imafdcv, or rv32imac.

    Uses all of V, because QEMU 10.0 cannot turn on (mstatus.VS) the vectors of a hart with Zve32f alone.

    Args:
      vlen: VLEN in bits, 0 for no vectors and no floats.
    """
    if not vlen:
        return ["-cpu", "rv32,d=false,f=false,h=false,zfa=false"]
    return ["-cpu", "rv32,v=true,vext_spec=v1.0,vlen={},elen=64".format(vlen)]

def qemu_cpu(vlen):
    """Returns the arguments for a hart with vectors of `vlen` bits.

    Args:
      vlen: VLEN in bits.
    """
    return ["-cpu", "rv64,v=true,vext_spec=v1.0,vlen={},elen=64".format(vlen)]

def qemu_vlen_envs(*, name, base):
    """Makes the environments `<name>128` to `<name>1024` of a board.

    Args:
      name: prefix of the environments.
      base: environment that defines everything but the hart.
    """
    for vlen in [128, 256, 512, 1024]:
        bm_exec_env(
            name = "{}{}".format(name, vlen),
            args = qemu_cpu(vlen),
            base = base,
            vlen = vlen,
        )
