"""Environments in QEMU, and the arguments that they pass to the emulator."""

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

# A machine without a device that ends the emulator.
QEMU_SEMIHOSTING = [
    "-semihosting-config",
    "enable=on,target=native",
]

# A machine with several harts.
QEMU_HART_ARGS = [
    "-smp",
    "{harts}",
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

# What the names of environments end in -> extensions beyond V of their harts, as isas.bzl and QEMU name them.
EXTENSIONS = {"".join(["_" + name for name in names]): names for names in [
    [],
    ["zfbfmin", "zvfbfmin"],
    ["zfbfmin", "zvfbfwma"],
    ["zfh", "zvfh"],
]}

def qemu_cpu(vlen, extensions = []):
    """Returns the arguments for a hart with vectors of `vlen` bits.

    Args:
      vlen: VLEN in bits.
      extensions: names of extensions beyond V.
    """
    more = "".join([",{}=true".format(extension) for extension in extensions])
    return ["-cpu", "rv64,v=true,vext_spec=v1.0,vlen={},elen=64{}".format(vlen, more)]

def qemu_env(*, name, board, machine, memory = "", bits = 64, image = ["-kernel", "{elf}"], more = [], deadline_seconds = 1800, **kwargs):
    """Makes an environment that boots a board's firmware in QEMU.

    Args:
      name: of the environment.
      board: name of the board.
      machine: QEMU's name of the machine.
      memory: size of its RAM, if it is not fixed.
      bits: of its harts, 32 or 64.
      image: arguments that load the firmware.
      more: arguments behind all others, such as qemu_cpu(256).
      deadline_seconds: in which it computes or waits, after which a run has failed.
      **kwargs: attributes of the bm_exec_env.
    """
    ram = ["-m", memory] if memory else []
    bm_exec_env(
        name = name,
        args = ["-machine", machine] + ram + image + QEMU_ARGS + more,
        board = board,
        deadline_seconds = deadline_seconds,
        debug_args = QEMU_DEBUG_ARGS,
        emulator = Label("//third_party/tools:qemu_system_riscv{}".format(bits)),
        **kwargs
    )

def qemu_vlen_envs(*, name, base):
    """Makes the environments `<name>128` to `<name>1024` of a board, and the same with more extensions.

    Args:
      name: prefix of the environments.
      base: environment that defines everything but the hart.
    """
    for vlen in [128, 256, 512, 1024]:
        for suffix, extensions in EXTENSIONS.items():
            bm_exec_env(
                name = "{}{}{}".format(name, vlen, suffix),
                args = qemu_cpu(vlen, extensions),
                base = base,
                extensions = extensions,
                vlen = vlen,
            )
