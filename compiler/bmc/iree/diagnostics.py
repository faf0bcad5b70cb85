"""Turns MLIR's diagnostics into one sentence that names the op and the line of the model."""

from __future__ import annotations

import re
import signal
from pathlib import Path

from bmc import disk
from bmc.errors import BmcError
from bmc.names import LIBRARY_PREFIX

_DIAGNOSTIC = re.compile(
    r'^(?:loc\()?"?(?P<file>[^\s":][^"]*?)"?:(?P<line>\d+):\d+\)?: (?P<kind>\w+): (?P<text>.*)$'
)
_UNDEFINED = re.compile(r"iree-lld: error: undefined symbol: (\w+)")
# Without a file: <unknown>:0: error: loc("node"): failed to ... or loc(callsite("node" at "node")): ...
_NAMED = re.compile(
    r'^<unknown>:0: error: (?:loc\((?:[a-z]+[(\[])*"(?P<name>[^"]*)"[^:]*\): )?(?P<text>.*)$'
)
_OP = re.compile(r"'([a-z_]+\.[\w.]+)'")
# Dialects of IREE's own steps, whose ops nobody writes in a framework.
_INTERNAL = frozenset(
    ("affine", "arith", "bufferization", "cf", "flow", "hal", "iree_codegen")
    + ("iree_linalg_ext", "iree_vector_ext", "linalg", "llvm", "math", "memref", "scf", "stream")
    + ("tensor", "tm_tensor", "torch_c", "util", "vector", "vm")
)
# The name of another framework's op inside a 'torch.operator'.
_FOREIGN_OP = re.compile(r'<\{name = "([\w.:]+)"')

# IREE leaves the linker's reason to lines before its own, which are not in MLIR's form.
_SEE_ABOVE = re.compile(r" \(check above[^)]*\)")
_LINKER = re.compile(r"lld: error: (?P<text>.*)")

# Ops that are loops, by the ends of their names in text and in bytecode.
_LOOP = re.compile(rb"\bwhile\b|prim\.Loop")

# A converter of one kind of op in the stack of a crash: mlir::stablehlo::(anonymous namespace)::ReduceOpToGeneric...
_IN_STACK = re.compile(r"OpConversionPattern<mlir::(?P<dialect>\w+)::(?P<op>\w+)Op>")

# What is printed of a pass that fails, and the function behind it.
_FAILED_PASS = re.compile(r"IR Dump After \S+ Failed: (?P<name>[\w-]+)")
_FUNCTION = re.compile(r"func\.func (?:\w+ )*@(?P<name>\w+)\(")

# A message, the line that it is about, and a mark below it.
_QUOTED = re.compile(r"^(.*:\d+:\d+: \w+: .*\n).*\n *\^.*\n?", re.MULTILINE)

# When torch-mlir cannot lower an op, it often names one of the op's arguments, usually a constant.
_TORCH_ARGUMENT = re.compile(r"torch\.(?:(?:constant|prim|vtensor)\.|tensor_static_info_cast)")
_TORCH_OP = re.compile(
    r'= torch\.(?:operator "(?P<foreign>[\w.:]+)"|(?!constant|prim|vtensor)(?P<op>[\w.]+)).*'
    r'loc\([^"]*"(?P<name>[^"]+)"(?P<line>:\d+)?'
)


def without_sources(messages: str) -> str:
    """Returns messages without the lines of files that they quote: a location may name any file of the user."""
    return _QUOTED.sub(r"\1", messages)


def rejection(
    tool: str, messages: str, returncode: int, reproducer: Path, source: bytes
) -> BmcError:
    """Turns the messages of a failed tool into an error.

    Args:
      tool: name of the program.
      messages: all that it wrote to stderr.
      returncode: its exit status, negative if a signal ended it.
      reproducer: folder that the hint points to.
      source: the file that it was given.
    """
    if disk.is_said_full(messages):
        return disk.full(f"{tool} cannot write a temporary file", disk.TEMPORARY)
    missing = _missing_function(messages)
    if missing:
        return missing
    error, where = _first_error(messages)
    if not error:
        return _without_reason(tool, messages, returncode, reproducer, bool(_LOOP.search(source)))
    if _SEE_ABOVE.search(error):
        linker = _LINKER.search(messages)
        error = _SEE_ABOVE.sub("", error) + (f": {linker['text']}" if linker else "")
    op = _FOREIGN_OP.search(error) or _OP.search(error)
    name = op[1] if op else ""
    reader = _TORCH_OP.search(messages) if _TORCH_ARGUMENT.match(name) else None
    if reader:  # An op of the model.
        name = reader["foreign"] or reader["op"]
        where = reader["name"] + (reader["line"] or "")
    if where.startswith(LIBRARY_PREFIX):
        where = ""
    hint = f"rewrite that part of the model with other ops; reproducer: {reproducer}"
    is_internal = name.partition(".")[0] in _INTERNAL or _TORCH_ARGUMENT.match(name)
    if is_internal and name.encode() not in source:  # The user's own file has it in letters.
        part = "this part of the model" if where else "a part of the model"
        hint = f"{hint}; IREE's reason: {_short(error)}"
        return BmcError("op-rejected", f"{tool} cannot compile {part}", where=where, hint=hint)
    what = f"cannot compile op '{name.removeprefix('torch.')}'" if name else "rejects the model"
    if not name or not error.startswith("failed to legalize"):
        what += f": {_short(error)}"
    return BmcError("op-rejected", f"{tool} {what}", where=where, hint=hint)


def _missing_function(messages: str) -> BmcError | None:
    """Returns the error for undefined symbols in the kernels."""
    undefined = sorted(set(_UNDEFINED.findall(messages)))
    library = [name for name in undefined if not name.startswith("__")]
    if library:
        return BmcError(
            "missing-function",
            f"the kernels call {', '.join(library)}, which IREE's library lacks",
            # C's names of functions of f32 end in f.
            hint="compute that part of the model with other ops"
            + ("" if all(name.endswith("f") for name in library) else ", or in f32 instead of f64"),
        )
    if undefined:
        return BmcError(
            "missing-function",
            f"the kernels call {', '.join(undefined)}: this instruction set has no instruction for it",
            hint="use an instruction set with F, or pass archives that have these functions, such as"
            " GCC's libgcc.a, with --libcalls",
        )
    return None


def _first_error(messages: str) -> tuple[str, str]:
    """Returns the text of the first error and the place it names, "" where there is none."""
    error = ""
    where = ""
    for line in messages.splitlines():
        named = _NAMED.match(line)
        if named and not error:
            error, where = named["text"], named["name"] or ""
        match = _DIAGNOSTIC.match(line)
        if match is None:
            continue
        if match["kind"] == "error" and not error:
            error = match["text"]
        if error and not where and not match["file"].startswith(LIBRARY_PREFIX):
            where = f"{match['file']}:{match['line']}"
    return error, where


def _without_reason(
    tool: str, messages: str, returncode: int, reproducer: Path, has_loops: bool
) -> BmcError:
    """Returns the error for a tool that failed without an error in MLIR's form."""
    if returncode < 0:
        found = _IN_STACK.search(messages)
        kind = re.sub(r"(?<!^)(?=[A-Z])", "_", found["op"]).lower() if found else ""
        what = f"on an op '{found['dialect']}.{kind}'" if found else "and gave no reason"
        return BmcError(
            "iree-crashed",
            f"{tool} crashed with {signal.Signals(-returncode).name} {what}",
            hint=("unroll loops (Keras: unroll=True), or " if has_loops else "")
            + f"remove parts of the model to find the op; reproducer: {reproducer}",
        )
    failed = _FAILED_PASS.search(messages)
    if failed:
        kernel = _FUNCTION.search(messages, failed.end())
        is_dispatch = kernel is not None and "_dispatch_" in kernel["name"]
        where = f" on the dispatch {kernel['name']}" if kernel and is_dispatch else ""
        tuned = "if a tuning file names the dispatch, take it out there; " if is_dispatch else ""
        return BmcError(
            "iree-failed",
            f"{tool} failed in the pass {failed['name']}{where} and gave no reason",
            hint=f"{tuned}reproducer: {reproducer}",
        )
    first = next((line for line in messages.splitlines() if "error" in line.lower()), "no message")
    return BmcError(
        "iree-failed",
        f"{tool} failed with status {returncode}: {first.strip()}",
        hint=f"reproducer: {reproducer}",
    )


def _short(error: str) -> str:
    """Drops the printed operation that MLIR appends after the reason."""
    return error.split(": %", 1)[0].split(': "', 1)[0][:200]
