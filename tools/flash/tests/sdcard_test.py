"""A card written to a file: read by other programs, booted by U-Boot in QEMU."""

from __future__ import annotations

import os
import subprocess
import unittest
from pathlib import Path

from tools.flash.tests.rig import DEADLINE, Done, Rig, path_of
from tools.run import process, result

BOARD = "qemu_virt_rv64_uboot"
FIRST = 1 << 20
CHECKERS = Path("../debian_disk_checkers/root").absolute()


class SdCardTest(Rig):
    def setUp(self) -> None:
        super().setUp()
        self.card = self.folder / "card.img"

    def write(self, elf: Path, *args: str) -> Done:
        return self.flash(elf, BOARD, "--method", "sdcard", "--port", str(self.card), *args)

    def boot(self) -> result.Outcome:
        """U-Boot finds the card by itself: nothing is typed."""
        drive = f"file={self.card},format=raw,if=none,id=card"
        card = ["-drive", drive, "-device", "virtio-blk-device,drive=card", "-net", "none"]
        argv = self.qemu("-bios", str(path_of("U_BOOT")), "-serial", "stdio", *card)
        return process.run(argv, DEADLINE)

    def assert_boots(self, models: list[str]) -> None:
        outcome = self.boot()
        verdict = result.judge(outcome)
        self.assertTrue(verdict.ok, verdict.sentence + "\n".join(outcome.lines[-30:]))
        self.assertEqual(list(outcome.models()), models)

    def check(self, program: str, *args: str) -> str:
        """Runs one of the programs that only read."""
        path = next(CHECKERS.glob(f"**/sbin/{program}"))  # below /usr from Debian 13 on
        libraries = [CHECKERS / "usr/lib/x86_64-linux-gnu", CHECKERS / "lib/x86_64-linux-gnu"]
        done = subprocess.run(
            [str(path), *args],
            env={**os.environ, "LD_LIBRARY_PATH": ":".join(str(folder) for folder in libraries)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_card_is_sound_and_boots_the_model(self) -> None:
        done = self.write(path_of("MODEL"))
        self.assertEqual(done.status, 0, done.text)
        self.assertIn("bytes read back", done.text)
        table = self.check("sfdisk", "-d", str(self.card))
        self.assertRegex(table, r"start= *2048, size= *129024, type=c, bootable")
        partition = self.folder / "partition.img"
        partition.write_bytes(self.card.read_bytes()[FIRST:])
        self.check("fsck.fat", "-n", str(partition))
        self.assert_boots(["fixture"])

    def test_second_image_keeps_the_first(self) -> None:
        self.assertEqual(self.write(path_of("PASS")).status, 0)
        done = self.write(path_of("MODEL"))
        self.assertEqual(done.status, 0, done.text)
        self.assertIn("the previous image is kept", done.text)
        self.assert_boots(["fixture"])
        # A damaged new image: U-Boot notices, and the one before still boots.
        damaged = self.folder / "damaged"
        damaged.write_bytes(b"no image")
        mtools = [str(path_of("MTOOLS")), "-c"]
        target = ["-o", "-i", f"{self.card}@@{FIRST}", str(damaged), "::ironcast.img"]
        subprocess.run([*mtools, "mcopy", *target], check=True)
        self.assert_boots(["fake"])

    def test_card_that_is_full_still_boots_what_it_had(self) -> None:
        self.assertEqual(self.write(path_of("PASS")).status, 0)
        mtools = [str(path_of("MTOOLS")), "-c", "mcopy", "-i", f"{self.card}@@{FIRST}"]
        for index, kilobytes in enumerate([62 * 1024] + [100] * 20):
            filler = self.folder / f"filler{index}"
            filler.write_bytes(b"\0" * (kilobytes * 1024))
            if subprocess.run([*mtools, str(filler), "::"]).returncode != 0:
                break
        else:
            self.fail("the card is never full")
        self.assert_refused(self.write(path_of("MODEL")), "the card still boots the previous image")
        self.assert_boots(["fake"])


if __name__ == "__main__":
    unittest.main()
