"""Whether the user named a clang (IRONCAST_CLANG), and where its headers are.

Separate from @debian_llvm so that setting up the toolchains downloads nothing.
"""

_DEFS = """\
USERS_OWN = {own}
USERS_INCLUDE_DIRECTORIES = {directories}
"""

def _users_clang_repo_impl(rctx):
    clang = rctx.getenv("IRONCAST_CLANG")
    directories = []
    if clang:
        # Header folders, then the folder of the compiler's own files, such as the sanitizers' lists.
        asked = rctx.execute([clang, "-E", "-x", "c++", "-v", "/dev/null"])
        if asked.return_code != 0:
            fail("IRONCAST_CLANG is %s, which does not run: correct or unset it." % clang)

        # The list is between two fixed lines of -v's output, one indented folder per line.
        between = asked.stderr.partition("#include <...> search starts here:")[2].partition("End of search list.")[0]
        directories = [line.strip() for line in between.splitlines() if line.strip()]
        directories.append(rctx.execute([clang, "-print-resource-dir"]).stdout.strip())
    rctx.file("BUILD.bazel", "")
    rctx.file("defs.bzl", _DEFS.format(own = bool(clang), directories = repr(directories)))

users_clang_repo = repository_rule(
    implementation = _users_clang_repo_impl,
    doc = "@NAME//:defs.bzl has USERS_OWN and USERS_INCLUDE_DIRECTORIES.",
)
