"""Puts firmware on its board, by whatever way the board has, and follows its console.

examples:
  tools/bazel run //models:mlp_rv64.flash --board=//boards/bpi_f3 -- --port /dev/ttyUSB0 --monitor
  tools/bazel run //tools/flash -- --list
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tools import cli
from tools import console as terminals
from tools.flash import board as boards
from tools.flash import image as images
from tools.flash import monitor, ports, safety, trust
from tools.flash.copy import Copy
from tools.flash.job import Console, Job, Runner
from tools.flash.litex_serial import LitexSerial
from tools.flash.openocd import OpenOcd
from tools.flash.pflash import Pflash
from tools.flash.progress import Bar
from tools.flash.sdcard import SdCard
from tools.flash.serial_line import SerialLine
from tools.flash.uboot_serial import UBootSerial
from tools.flash.uboot_tftp import UBootTftp
from tools.flash.usb import Dfu, EspTool, Fastboot
from tools.printable import printable
from tools.run.screen import Screen

RUNNERS: dict[str, type[Runner]] = {
    "openocd": OpenOcd,
    "uboot-serial": UBootSerial,
    "uboot-tftp": UBootTftp,
    "litex-serial": LitexSerial,
    "fastboot": Fastboot,
    "dfu": Dfu,
    "sdcard": SdCard,
    "esptool": EspTool,
    "copy": Copy,
    "pflash": Pflash,
}


def _add_arguments(parser: cli.Parser) -> None:
    parser.add_argument("elf", type=Path, nargs="?", help="firmware built by bm_firmware")
    parser.add_argument("--board", type=Path, help="board.json of the board")
    methods = sorted(RUNNERS)
    parser.add_argument(
        "--method",
        choices=methods,
        metavar="METHOD",
        help=f"{', '.join(methods)}; left out: the board's default",
    )
    parser.add_argument("--port", default="", help="serial port, disk, file, folder or probe")
    parser.add_argument("--list", action="store_true", help="show ports, probes and disks, and end")
    parser.add_argument("--dry-run", action="store_true", help="print what would be done, and end")
    parser.add_argument(
        "--allow-code",
        action="store_true",
        help="run the OpenOCD configurations beside board.json, wherever they are from, also later; without a "
        "firmware: only remember that",
    )
    parser.add_argument(
        "--verify",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="read back what was written and compare",
    )
    parser.add_argument("--monitor", action="store_true", help="follow the console to its end")
    parser.add_argument(
        "--raw", action="store_true", help="show the console as the firmware writes it"
    )
    parser.add_argument("--monitor-port", default="", help="console, when it is not what flashes")
    parser.add_argument("--baud", type=int, default=115200, help="of --monitor-port")
    parser.add_argument("--deadline", type=float, default=300, help="seconds for --monitor")
    parser.add_argument("--wait", type=float, default=30, help="seconds for the board to answer")
    parser.add_argument("--tftp-root", type=Path, help="folder that your TFTP server serves")
    parser.add_argument("--tftp-server", default="", help="its address, when DHCP does not say it")
    parser.add_argument("--tool", action="append", default=[], metavar="NAME=PATH")


@cli.program("flash", __doc__, status=2)
def main(parser: cli.Parser, args: list[str]) -> int:
    """Entry point; returns the exit status: 1 the firmware failed, 2 flashing did."""
    _add_arguments(parser)
    options = parser.parse_args(args)
    if options.list:
        print(*map(printable, ports.listing()), sep="\n")
        return 0
    if options.board is None or (options.elf is None and not options.allow_code):
        parser.error("name a firmware and its --board")
    try:
        if options.elf is None:
            _remember(boards.read(options.board))
            return 0
        if options.dry_run:
            return _flash(options, Path("WORK"))
        with tempfile.TemporaryDirectory(prefix="ironcast-flash-") as work:
            return _flash(options, Path(work))
    except KeyboardInterrupt:
        print("flash: interrupted; run the same command again", file=sys.stderr)
        return 130


def _remember(board: boards.Board) -> None:
    if code := trust.strange(board):
        trust.remember(code)


def _flash(options: argparse.Namespace, work: Path) -> int:
    terminal = terminals.standard_output()
    folder = cli.user_path("")
    image = images.read(options.elf)
    board = boards.read(options.board)
    safety.check_image(image, board)
    method = options.method or board.default
    with Bar(terminal) as bar:

        def confirm(code: trust.Code) -> None:
            with bar.paused():
                trust.confirm(code)

        runner = RUNNERS[method](
            Job(
                image=image,
                board=board,
                settings=board.settings(method),
                port=options.port,
                verify=options.verify,
                work=work,
                tools=dict(tool.split("=", 1) for tool in options.tool),
                say=lambda text: terminal.print(printable(text)),
                progress=bar,
                wait_seconds=options.wait,
                folder=folder,
                tftp_root=options.tftp_root and folder / options.tftp_root,
                tftp_server=options.tftp_server,
                allow_code=options.allow_code,
                confirm=confirm,
            )
        )
        steps = runner.steps()
        if options.dry_run:
            print(*(printable(step.text) for step in steps), sep="\n")
            return 0
        if options.monitor and not options.monitor_port and not runner.has_console:
            raise cli.UserError(
                f"{method} has no console: name its serial port with --monitor-port"
            )
        if options.allow_code:
            _remember(board)
        console: Console | None = None
        if options.monitor and options.monitor_port:
            # Open before the firmware starts: its first lines count too.
            console = SerialLine(options.monitor_port, options.baud)
        for step in steps:
            step.do()
    if not options.monitor:
        return 0
    console = console or runner.console()
    assert console is not None
    screen = Screen(terminal, raw=options.raw)
    try:
        outcome = monitor.follow(console, options.deadline, screen.line)
    finally:
        screen.flush()
    return 0 if screen.verdict(monitor.judge(outcome, image), "PASS") else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
