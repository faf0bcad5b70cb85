"""For tests: a mirror in a folder, with packages that the test makes, for the real apt."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


class LocalMirror:
    """A mirror with packages in `folder`. `source` is its line in sources.list."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.source = f"deb [trusted=yes] file:{folder} ./"
        self._stanzas: list[str] = []

    def add(
        self,
        name: str,
        version: str,
        files: Mapping[str, str],
        depends: Sequence[str] = (),
        links: Mapping[str, str] | None = None,
    ) -> Path:
        """Builds one package; returns its .deb.

        Args:
          name: name of the package.
          version: its version.
          files: path -> content.
          depends: names of packages that it depends on.
          links: path -> target of a symbolic link.
        """
        tree = self.folder / "trees" / f"{name}-{version}"
        (tree / "DEBIAN").mkdir(parents=True)
        control = [
            f"Package: {name}",
            f"Version: {version}",
            "Architecture: amd64",
            "Maintainer: nobody <n@example.invalid>",
        ]
        control += [f"Depends: {', '.join(depends)}"] if depends else []
        control += ["Description: made for a test"]
        (tree / "DEBIAN/control").write_text("\n".join(control) + "\n")
        for path, content in files.items():
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_text(content)
        for path, target in (links or {}).items():
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).symlink_to(target)
        deb = self.folder / f"{name}_{version}_amd64.deb"
        subprocess.run(
            ["dpkg-deb", "--root-owner-group", "-Zgzip", "--build", tree, deb],
            check=True,
            capture_output=True,
        )
        content_bytes = deb.read_bytes()
        facts = [
            f"Filename: ./{deb.name}",
            f"Size: {len(content_bytes)}",
            f"SHA256: {hashlib.sha256(content_bytes).hexdigest()}",
        ]
        self._stanzas.append("\n".join(control + facts) + "\n")
        (self.folder / "Packages").write_text("\n".join(self._stanzas))
        return deb
