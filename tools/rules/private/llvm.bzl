"""LLVM's programs in actions: with folders of libraries, and not with hundreds of files."""

LLVM_ATTRS = {
    "_llvm": attr.label(default = "@debian_llvm//:folders", cfg = "exec"),
}

def llvm_files(ctx):
    """Returns what an action needs to run LLVM's programs.

    Args:
      ctx: context of a rule with LLVM_ATTRS.

    Returns:
      depset of File.
    """
    return ctx.attr._llvm[DefaultInfo].files

def llvm_program(ctx, name):
    """Returns one of LLVM's programs.

    Args:
      ctx: context of a rule with LLVM_ATTRS.
      name: its name without `llvm-`, e.g. objdump.

    Returns:
      File.
    """
    return [file for file in ctx.files._llvm if file.basename == "llvm-" + name][0]
