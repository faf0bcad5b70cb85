"""tools/bazel: finds or fetches the right Bazel, starts it, and says in a sentence what was wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.resources.abc import Traversable
from pathlib import Path

from third_party.debian.errors import AptError
from tools.launcher import build, doctor, latin1, output_root, patterns, rc_files, store, truststore
from tools.launcher.cache import cache_dir, cache_path, disk_full, is_full, say
from tools.launcher.choose import DEBIAN_RULESETS, Bazel, choose
from tools.launcher.debian_bazel import java_home
from tools.launcher.disk_cache import DiskCache, limit_of, open_cache
from tools.launcher.errors import LauncherError

_COMMANDS = frozenset(
    [
        "analyze-profile",
        "aquery",
        "build",
        "canonicalize-flags",
        "clean",
        "config",
        "coverage",
        "cquery",
        "dump",
        "fetch",
        "help",
        "info",
        "license",
        "mobile-install",
        "mod",
        "print_action",
        "query",
        "run",
        "shutdown",
        "sync",
        "test",
        "vendor",
        "version",
    ]
)


def startup_options(bazel: Bazel, cache: Path, env: Mapping[str, str]) -> list[str]:
    """The startup options that this Bazel needs here.

    They are the same for every call, or its server would restart.
    """
    options: list[str] = []
    if bazel.debian_prefix is not None:
        prefix = bazel.debian_prefix
        options += [
            f"--install_base={prefix / 'usr/share/bazel'}",
            "--trust_install_base",
            f"--server_javabase={java_home(prefix)}",
        ]
        if store := truststore.ensure(cache, env, prefix / "usr/share/ca-certificates"):
            options += [
                f"--host_jvm_args=-Djavax.net.ssl.trustStore={store}",
                "--host_jvm_args=-Djavax.net.ssl.trustStoreType=JKS",
                f"--host_jvm_args=-Djavax.net.ssl.trustStorePassword={truststore.PASSWORD}",
            ]
    return options


def own_rc(bazel: Bazel, disk: DiskCache | None) -> list[str]:
    """The options of the launcher's own rc file."""
    options: list[str] = []
    if bazel.rulesets is not None:
        options += [
            f"--override_repository={name}={bazel.rulesets / where}"
            for name, where in DEBIAN_RULESETS.items()
        ]
    if disk is not None:
        options += disk.options()
    return options


def split_command(args: Sequence[str]) -> tuple[list[str], str, list[str]]:
    """Bazel's startup options, its command ("" if there is none) and the rest."""
    for index, arg in enumerate(args):
        if arg in _COMMANDS:
            return list(args[:index]), arg, list(args[index + 1 :])
    return list(args), "", []


def environment(env: Mapping[str, str]) -> dict[str, str]:
    """The environment for Bazel.

    A user without a name, as in some containers, gets one, because Bazel requires it. pip and npm
    trust the same private certificates as everything else; npm would not even trust the machine's.
    """
    result = {"USER": f"uid{os.getuid()}", **env, "BAZELISK_SKIP_WRAPPER": "1"}
    if certificates := env.get("SSL_CERT_FILE"):
        return {"PIP_CERT": certificates, "NODE_EXTRA_CA_CERTS": certificates, **result}
    for bundle in truststore.BUNDLES:
        if bundle.is_file():
            return {"NODE_EXTRA_CA_CERTS": str(bundle), **result}
    return result


def run(root: Path, ironcast: Traversable, args: Sequence[str]) -> int:
    """Runs Bazel and returns its exit status, or becomes Bazel if it builds nothing. Raises LauncherError."""
    env = environment(os.environ)
    if args and args[0] == "doctor":
        return doctor.report(cache_path(), env)
    cache = cache_dir()
    bazel = choose(root, ironcast, cache, env)
    env |= latin1.environment((root, Path.cwd(), cache, Path(env.get("HOME", "/"))), cache)
    startup, command, rest = split_command(args)
    # Debian's Bazel carries no label and fails when asked for one.
    if bazel.debian_prefix is not None and (args == ["--version"] or command == "version"):
        print(
            f"Build label: {bazel.version}"
            if command and "--gnu_format" not in rest
            else f"bazel {bazel.version}"
        )
        return 0
    output_root.close(cache)
    store.check()
    disk = open_cache(cache, limit_of(env))
    rc = rc_files.write(cache, own_rc(bazel, disk))
    # An installed Bazel of Debian's has an rc file that turns off what the launcher needs.
    left_out = [*startup, *(["--nosystem_rc"] if bazel.debian_prefix else [])]
    line = [
        str(bazel.program),
        *startup_options(bazel, cache, env),
        *rc_files.options(rc, left_out, Path.cwd(), env),
        *startup,
    ]
    if patterns.needs_expansion(command, rest):
        rest = patterns.expand(command, rest, patterns.bazel_query(line, env))
    if command == "shutdown":
        status = subprocess.run([*line, command, *rest], env=env).returncode
        collect(disk)
        return status
    if disk is not None:
        if disk.is_due():
            collect(disk)
        disk.hold()
    if command in build.COMMANDS and os.geteuid() == 0:
        warn_root(cache)
    if build.as_child(command, rest):
        return build.run(line, command, rest, env, root, cache)
    os.execve(bazel.program, [*line, *([command] if command else []), *rest], env)


def warn_root(cache: Path) -> None:
    """Says once to root what its builds may do. Continuous integration goes on."""
    try:
        (cache / "root-was-warned").touch(exist_ok=False)
    except OSError:
        return
    say(
        "root starts this build, and Bazel's sandbox lets an action of root's change this machine: build as an "
        "ordinary user what is not your own (docs/remote.md, As root)"
    )


def collect(disk: DiskCache | None) -> None:
    """Removes what was not used for long. No failure of that stops a command."""
    for each in (store.collect, *([disk.collect] if disk else [])):
        try:
            each()
        except (LauncherError, OSError) as error:
            say(f"what was not used for long stays: {error}")


def main(root: Path, ironcast: Traversable) -> int:
    """Runs the launcher for the workspace at `root`; returns the exit status.

    ironcast: the tree that the launcher is part of: `root` itself, or the file it is packed into.
    """
    try:
        return run(root, ironcast, sys.argv[1:])
    except (AptError, LauncherError) as error:
        print(f"tools/bazel: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        if is_full(error):
            print(f"tools/bazel: {disk_full(cache_path())}", file=sys.stderr)
            return 1
        print(f"tools/bazel: the system refused: {error}.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("tools/bazel: interrupted; nothing half-done was kept.", file=sys.stderr)
        return 130
