"""bm_demo: `bazel run` shows a page on which people try a model that runs as firmware."""

load("@rules_python//python:defs.bzl", "py_binary")
load("//tools/rules:providers.bzl", "BmServiceInfo")
load("//tools/rules/private:launcher.bzl", "write_launcher")

_MAIN = Label("//tools/service/demo:demo.py")

def _bm_demo_impl(ctx):
    service = ctx.attr.service[BmServiceInfo]
    files = [ctx.file.report] + ctx.files.page
    args = ["--session", service.session, "--report", ctx.file.report]
    if "index.html" not in [file.basename for file in ctx.files.page]:
        fail("{}: `page` has no index.html: it is what the browser opens first".format(ctx.label))
    for file in ctx.files.page:
        args += ["--page", file]
    if ctx.attr.prepare:
        args += ["--prepare", ctx.attr.prepare]
    return [DefaultInfo(**write_launcher(ctx, ctx.attr.program, args, files, service.runfiles))]

_bm_demo = rule(
    implementation = _bm_demo_impl,
    doc = "Serves a page that talks to service firmware; see the macro.",
    attrs = {
        "page": attr.label_list(allow_files = True, mandatory = True),
        "prepare": attr.string(),
        "program": attr.label(executable = True, cfg = "target", mandatory = True),
        "report": attr.label(allow_single_file = [".json"], mandatory = True),
        "service": attr.label(mandatory = True, providers = [BmServiceInfo]),
    },
    executable = True,
)

def bm_demo(*, name, page, suite, prepare = None, deps = [], tags = [], **kwargs):
    """`bazel run` shows a page on this machine that runs the firmware of a bm_model_suite.

    The firmware runs in QEMU, or on the board at a serial port (`-- --port`) that has `<suite>.service.flash`.
    `docs/how-to/demo.md` says what a page can ask for.

    Args:
      name: name of the target, such as `mlp_rv64.demo`.
      page: files of the page, by their names: index.html and what it loads. `common.css` and `common.js` are there.
      suite: name of a bm_model_suite in this package. Its first model is shown.
      prepare: Python file with a function `prepare(sent)`, which returns a dict from the names of the model's inputs
        to their values, or raises a ValueError with a sentence. Without it, the page sends that dict itself.
      deps: Python libraries that `prepare` imports.
      tags: tags of the targets.
      **kwargs: attributes of the targets, e.g. visibility.
    """
    program = Label("//tools/service/demo")
    module = ""
    if prepare:
        program = name + "._program"
        label = native.package_relative_label(prepare)
        module = "/".join([label.package, label.name]).strip("/").removesuffix(".py").replace("/", ".")
        py_binary(
            name = program,
            srcs = [_MAIN, prepare],
            main = _MAIN,
            tags = tags + ["manual"],
            deps = [Label("//tools/service/demo:demo_lib")] + deps,
            **kwargs
        )
    _bm_demo(
        name = name,
        page = page,
        prepare = module,
        program = program,
        report = suite + ".report",
        service = suite + ".validate",
        tags = tags + ["manual"],
        **kwargs
    )
