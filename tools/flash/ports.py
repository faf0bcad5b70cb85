"""What a board may hang on: serial ports, debug probes, removable disks."""

from __future__ import annotations

from pathlib import Path

from serial.tools import list_ports

from tools.flash import disks

# USB vendor:product (or vendor alone) of debug probes that OpenOCD drives.
_PROBES = {
    "0403:6010": "FTDI FT2232 (JTAG)",
    "0403:6011": "FTDI FT4232 (JTAG)",
    "0403:6014": "FTDI FT232H (JTAG)",
    "0d28:0204": "CMSIS-DAP",
    "1366": "SEGGER J-Link",
    "15ba": "Olimex ARM-USB",
    "303a:1001": "Espressif built-in JTAG",
    "303a:1002": "Espressif USB Bridge",
    "0483": "ST-Link",
}


def serial_ports() -> list[str]:
    """A line for each serial port."""
    return [f"{port.device}  {port.description}" for port in sorted(list_ports.comports(), key=str)]


def probes(root: Path = Path("/")) -> list[str]:
    """A line for each USB debug probe; `root` is another tree in tests."""
    found = []
    for device in sorted((root / "sys/bus/usb/devices").glob("*")):
        vendor, product = (_text(device / name) for name in ("idVendor", "idProduct"))
        title = _PROBES.get(f"{vendor}:{product}") or _PROBES.get(vendor)
        if vendor and title:
            found.append(f"{device.name}  {title}  {_text(device / 'serial')}".rstrip())
    return found


def removable_disks(root: Path = Path("/")) -> list[str]:
    """A line for each disk that may be written."""
    return [
        f"{disk.device}  {disk.title} {disk.size / 1e9:.1f} GB"
        + (f" ({', '.join(disk.uses)})" if disk.uses else "")
        for disk in disks.disks(root)
        if disk.removable
    ]


def listing() -> list[str]:
    """Everything, as lines to print."""
    lines = []
    for title, found in {
        "serial ports": serial_ports(),
        "debug probes": probes(),
        "removable disks": removable_disks(),
    }.items():
        lines.append(f"{title}:")
        lines += [f"  {line}" for line in found] or ["  none"]
    return lines


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
