"""Bazel from a newer Debian suite, unpacked into the cache.

For machines that reach a Debian mirror but not GitHub. Debian builds Bazel as a
set of ordinary packages: a client, a server jar whose dependencies are other
packages' jars, and a Java runtime. They expect to be installed under /, so a few
things are changed after unpacking; each is explained where it is done.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from third_party.debian.apt import (
    KEYRING,
    Package,
    PrivateApt,
    is_elf,
    machine_mirrors,
    patch_elf,
    relative_symlinks,
    require_apt,
)
from third_party.debian.errors import AptError
from tools.launcher.cache import progress, say

LIBRARIES = "usr/lib/x86_64-linux-gnu"
LOADER = f"{LIBRARIES}/ld-linux-x86-64.so.2"
SERVER = "usr/share/bazel"

# In Bazel's closure but never run or read by its client and server: compilers, the JDK, perl and python, packages
# that only installation uses, and Java libraries that are not on the server's class path. Whole names.
UNUSED = (
    r"openjdk-.*-jdk.*|default-jdk.*|default-jre.*",
    r"(gcc|g\+\+|cpp|libgcc|libstdc\+\+)-\d+.*(?<!-base)|gcc|g\+\+|cpp|(gcc|g\+\+|cpp)-x86-64-linux-gnu",
    r"lib(asan|tsan|ubsan|hwasan|itm|quadmath|gomp|cc1-|isl|mpc|mpfr|gmp|atomic)\d+",
    r"liblsan0|binutils.*|libbinutils|lib(ctf|gprofng|sframe).*|libjansson4",
    r"libc6-dev|libc-dev-bin|linux-libc-dev|libc-gconv.*|libcrypt-dev|rpcsvc-proto|zlib1g-dev",
    r"build-essential|make|patch|dpkg-dev|libdpkg-perl|bzip2|xz-utils|unzip",
    r"perl.*|libperl.*|python3.*|libpython3.*|libgdbm.*|libdb5.*|libsqlite.*|libncurses.*|libreadline.*|readline-common",
    r"debconf|libpam.*|util-linux|libaudit.*|libcap-ng0|libsystemd0|libudev1|libblkid1|libmount1|libsmartcols1",
    r"tzdata|netbase|media-types|openssl.*|node-.*|libjs-.*|junit4|libhamcrest-java",
    r"lib(asm|bcprov|bsh|commons-(cli|codec|collections3|lang3|logging)|eclipse-jdt-.*|guice|http(client|core))-java",
    r"lib(jackson2-core|jacoco|jarjar|javaparser|jctools|jetty9|jgit|jsch|junixsocket|log4j.*|maven.*|mongodb)-java",
    r"lib(opencensus|plexus-.*|protobuf|sisu-.*|slf4j)-java",
)


def choose_version(candidates: dict[str, str], wanted: str) -> tuple[str, str | None]:
    """Picks a suite.

    candidates: suite -> version of its Bazel package, preferred suite first.
    Returns the suite and, if its Bazel is not `wanted`, a sentence that says so.
    Raises AptError if no suite has a Bazel of the same major version.
    """
    for suite, version in candidates.items():
        if version.partition("+")[0] == wanted:
            return suite, None
    major = wanted.partition(".")[0]
    for suite, version in candidates.items():
        if version.partition(".")[0] == major:
            return (
                suite,
                f"Debian {suite} has Bazel {version} and this project was made with "
                f"{wanted}; continuing with it.",
            )
    seen = ", ".join(f"{suite} has {version}" for suite, version in candidates.items())
    raise AptError(
        f"Debian's mirror no longer has Bazel {wanted} ({seen}): install Bazel "
        f"{wanted} and set BAZEL_REAL to it."
    )


def fill(work: Path, final: Path, wanted: str, table: dict[str, Any]) -> None:
    """Unpacks Bazel into `work` so that it runs once `work` is renamed to `final`.

    table: BAZEL_FROM_DEBIAN of versions.bzl. Raises AptError.
    """
    require_apt()
    if not KEYRING.is_file():
        raise AptError(
            f"{KEYRING} is missing, so Debian's signatures cannot be checked: "
            "install debian-archive-keyring."
        )
    with tempfile.TemporaryDirectory(dir=work) as scratch:
        state = Path(scratch)
        apt, packages = _resolve(state, wanted, table)
        say(f"downloading Bazel {wanted}: {len(packages)} Debian packages, into {final}")
        apt.unpack(packages, work, table["skip"], progress("downloaded {} of {} MB"))
    _mend(work, final)


def _resolve(state: Path, wanted: str, table: dict[str, Any]) -> tuple[PrivateApt, list[Package]]:
    """Finds the mirror and suite that have Bazel, and the packages it needs."""
    say("GitHub is not used; asking this machine's Debian mirror for Bazel")
    failure = AptError(f"None of this machine's apt sources has Bazel {wanted}: set BAZEL_REAL.")
    for number, mirror in enumerate(machine_mirrors(state / "machine")):
        suites: dict[str, PrivateApt] = {}
        candidates: dict[str, str] = {}
        for suite in table["suites"]:
            source = f"deb [signed-by={KEYRING}] {mirror} {suite} main"
            apt = PrivateApt(state / f"{number}-{suite}", source)
            try:
                apt.update()
            except AptError as error:
                failure = (
                    error if number == 0 else failure
                )  # the likeliest mirror's reason is the most useful
                continue
            if version := apt.candidate(table["package"]):
                suites[suite], candidates[suite] = apt, version
            if version and version.partition("+")[0] == wanted:
                break
        if candidates:
            suite, drift = choose_version(candidates, wanted)
            if drift:
                say(drift)
            apt = suites[suite]
            jre = next(d for d in apt.depends("default-jre-headless") if d.startswith("openjdk"))
            return apt, apt.closure([table["package"], jre, *table["also"]], leave_out=UNUSED)
    raise failure


def java_home(prefix: Path) -> Path:
    """The Java runtime inside an unpacked prefix; raises AptError if there is none."""
    for home in sorted((prefix / "usr/lib/jvm").glob("java-*-openjdk-*")):
        if home.is_dir() and not home.is_symlink():
            return home
    raise AptError(f"{prefix} holds no Java runtime: delete that folder and try again.")


def _mend(work: Path, final: Path) -> None:
    relative_symlinks(work)
    mend_classpath(work, final)
    # The prefix comes from a newer suite than the machine: its programs need its own C library
    # and loader. The loader's path must be absolute, so it is that of the final place. patchelf
    # itself is one of these programs, so it is started through the loader by hand.
    patchelf = [
        str(work / LOADER),
        "--library-path",
        str(work / LIBRARIES),
        str(work / "usr/bin/patchelf"),
    ]
    java = java_home(work)
    programs = [
        work / "usr/bin/bazel",
        *(work / "usr/libexec/x86_64-linux-gnu/bazel").iterdir(),
        *(java / "bin").iterdir(),
        java / "lib/jspawnhelper",
    ]
    final_java = final / java.relative_to(work)
    rpath = f"{final / LIBRARIES}:{final_java / 'lib'}:{final_java / 'lib/server'}"
    elfs = [str(program) for program in programs if is_elf(program)]
    patch_elf(
        *patchelf,
        "--force-rpath",
        "--set-rpath",
        rpath,
        "--set-interpreter",
        str(final / LOADER),
        *elfs,
    )
    # Both are large and not used again.
    for leftover in ("usr/bin/patchelf", "usr/share/nodejs"):
        path = work / leftover
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def mend_classpath(work: Path, final: Path) -> None:
    """Jars are listed by absolute path, and one that the server loads is missing from the list."""
    listing = work / SERVER / "bazel_classpath_debian_depends.txt"
    jars = [
        str(final) + line if line.startswith("/") else line
        for line in listing.read_text().splitlines()
    ]
    perfmark = str(final / "usr/share/java/perfmark-api.jar")
    listing.write_text("\n".join([*jars, *([perfmark] if perfmark not in jars else [])]) + "\n")
