"""note_c: what an image was built for, and by which version, in the image."""

load("//compiler/bmc:version.bzl", "VERSION")

# A note is a name and a text, each padded to four bytes. Assembly, because C would give it memory on the
# target. lld keeps notes when it drops unreferenced sections.
_NOTE = """
// What this image was built for. Read by tools/flash.
__asm__(
    ".pushsection .note.ironcast, \\"\\", @note\\n"
    ".balign 4\\n"
    ".4byte 9, 2f - 1f, 1\\n"
    ".asciz \\"Ironcast\\"\\n"
    ".balign 4\\n"
    "1:\\n"
    ".ascii \\"{text}\\"\\n"
    "2:\\n"
    ".balign 4\\n"
    ".popsection\\n");
"""

def _quoted(text):
    return text.replace("\\", "\\\\").replace("\"", "\\\"")

def note_c(board, isa, models):
    """Returns the C source of an image's note.

    Args:
      board: string, its name.
      isa: string.
      models: list of string, the names of the models inside.

    Returns:
      string.
    """
    text = json.encode({"board": board, "ironcast": VERSION, "isa": isa, "models": models})

    # A string of the assembler in a string of C.
    return _NOTE.format(text = _quoted(_quoted(text)))
