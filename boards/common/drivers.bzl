"""Drivers: what `console` and `exit` of a bm_board may be.

    load("//boards/common:drivers.bzl", "ns16550", "sifive_test")

    bm_board(
        name = "mine",
        console = ns16550(0x10000000),
        exit = sifive_test(0x100000),
        ...
    )

`driver` describes one of your own.
"""

def driver(*, header = "", library = None, title = "", init = "", write = "", read = "", exit = "", power_off = "", other = None):
    """What a board calls of a driver. Text is C; an empty one is something that it cannot do.

    Args:
      header: that declares the functions, as `#include` names it.
      library: cc_library with the functions.
      title: what it is and where, in a few words.
      init: statement that sets the console up.
      write: statement that writes the `size` characters from `bytes`.
      read: expression for the next character that came, or -1 if there is none.
      exit: statement that ends the run with `status`.
      power_off: statement that switches the board off.
      other: another driver that these statements call, too.
    """
    called = other or struct(headers = [], libraries = [])
    return struct(
        headers = called.headers + ([header] if header else []),
        libraries = called.libraries + ([library] if library else []),
        title = title,
        init = init,
        write = write,
        read = read,
        exit = exit,
        power_off = power_off,
    )

def ns16550(base, stride = 1, ready = False):
    """A 16550 UART.

    Args:
      base: address of its registers.
      stride: distance between them: 1, or 4 if each is a 32-bit word.
      ready: whether the boot loader has set it up, and it is to stay so.
    """
    at = "0x%x, %d" % (base, stride)
    return driver(
        header = "boards/common/ns16550.h",
        library = Label("//boards/common:ns16550"),
        title = "ns16550 {}at 0x{}".format("with 32-bit registers " if stride == 4 else "", "%x" % base),
        init = "" if ready else "bm_ns16550_init({});".format(at),
        write = "bm_ns16550_write({}, bytes, size);".format(at),
        read = "bm_ns16550_read({})".format(at),
    )

def sifive_uart(base):
    """SiFive's UART, transmit only.

    Args:
      base: address of its registers.
    """
    return driver(
        header = "boards/common/sifive_uart.h",
        library = Label("//boards/common:sifive_uart"),
        title = "SiFive UART at 0x%x" % base,
        init = "bm_sifive_uart_init(0x%x);" % base,
        write = "bm_sifive_uart_write(0x%x, bytes, size);" % base,
    )

def htif(reads = True):
    """The host-target interface of Spike and of QEMU's spike machine: a console, and an exit.

    Args:
      reads: whether characters come from there: only on 64 bits.
    """
    return driver(
        header = "boards/common/htif.h",
        library = Label("//boards/common:htif"),
        title = "HTIF",
        write = "bm_htif_write(bytes, size);",
        read = "bm_htif_read()" if reads else "",
        exit = "bm_htif_exit(status);",
    )

def sifive_test(base):
    """An exit: the device of QEMU's machines that ends the emulator.

    Args:
      base: address of its registers.
    """
    return driver(
        header = "boards/common/sifive_test.h",
        library = Label("//boards/common:sifive_test"),
        exit = "bm_sifive_test_exit(0x%x, status);" % base,
        power_off = "bm_sifive_test_exit(0x%x, 0);" % base,
    )

def semihosting():
    """An exit: a debugger or an emulator takes the status. Without one, the hart waits."""
    return driver(
        header = "boards/common/semihosting.h",
        library = Label("//boards/common:semihosting"),
        exit = "bm_semihosting_exit(status);",
    )

def sbi_reboot(failed = None):
    """An exit for supervisor mode: back to the boot loader. The last console record has the result.

    Args:
      failed: exit of a run that failed, because a restart takes no status; omitted if there is none.
    """
    return driver(
        header = "boards/common/sbi.h",
        library = Label("//boards/common:sbi"),
        other = failed,
        exit = "if (status == 0) bm_sbi_reboot();\n" + failed.exit if failed else "(void)status;\nbm_sbi_reboot();",
    )

def wait_forever():
    """An exit for a board that has nothing to return to. The last console record has the result."""
    return driver(exit = "(void)status;\nfor (;;) __asm__ volatile(\"wfi\");")
