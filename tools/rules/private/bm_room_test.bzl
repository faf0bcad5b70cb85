"""bm_room_test: the error for a model that does not fit on a board."""

load("//tools/rules:providers.bzl", "BmFirmwareInfo")
load("//tools/rules/private:launcher.bzl", "write_launcher")

def _bm_room_test_impl(ctx):
    board = ctx.file.board
    reports = ctx.attr.firmware[BmFirmwareInfo].model_reports
    args = ["room", "--expect", ctx.attr.text, "--board", board]
    for report in reports:
        args += ["--model-report", report]
    return [DefaultInfo(**write_launcher(ctx, ctx.attr._size, args, [board] + reports))]

bm_room_test = rule(
    implementation = _bm_room_test_impl,
    doc = """Passes if the models of the firmware are refused for `board` with the sentence `text`.

    The firmware itself is for a board with more memory.""",
    attrs = {
        "board": attr.label(doc = "board.json of a board that is too small.", allow_single_file = [".json"], mandatory = True),
        "firmware": attr.label(doc = "bm_firmware.", mandatory = True, providers = [BmFirmwareInfo]),
        "text": attr.string(doc = "Text that the sentence must contain.", mandatory = True),
        "_size": attr.label(default = "//tools/report:size", executable = True, cfg = "target"),
    },
    test = True,
)
