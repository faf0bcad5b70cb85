"""What every QEMU environment passes to the emulator, whichever machine it is."""

# No firmware of QEMU's own, console on standard output, and -icount: `minstret` counts
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

# How QEMU waits for gdb.
QEMU_DEBUG_ARGS = [
    "-S",
    "-gdb",
    "unix:{socket},server=on,wait=off",
]

def qemu_cpu32(vlen):
    """Returns the arguments for a hart of 32 bits: rv32imafdcv, or rv32imac.

    All of V, because QEMU 10.0 lets nobody turn on (mstatus.VS) the vectors of a hart that has Zve32f alone.

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
