"""board_files: what is made of a board's facts."""

def _board_files_impl(ctx):
    facts = ctx.actions.declare_file(ctx.label.name + ".json")
    ctx.actions.write(facts, ctx.attr.facts)
    args = ctx.actions.args()
    args.add("--facts", facts)
    outputs = []
    for option in ["board", "memory"]:
        file = getattr(ctx.outputs, option)
        if file:
            args.add("--" + option, file)
            outputs.append(file)
    ctx.actions.run(
        mnemonic = "BmBoardFiles",
        executable = ctx.executable._board_files,
        arguments = [args],
        inputs = [facts],
        outputs = outputs,
    )

board_files = rule(
    implementation = _board_files_impl,
    doc = "A board's memory.ldh and board.json, or the one of them that it does not bring itself.",
    attrs = {
        "board": attr.output(doc = "board.json."),
        "facts": attr.string(doc = "JSON for boards/board_files.py.", mandatory = True),
        "memory": attr.output(doc = "memory.ldh."),
        "_board_files": attr.label(default = "//boards:board_files", executable = True, cfg = "exec"),
    },
)
