"""run_tool: an action of a Python program that stays for the next one.

An image needs a dozen small actions, and most of them start longer than they work.
"""

def run_tool(ctx, *, tool, arguments, **kwargs):
    """Runs a program of tools/actions/persistent_worker's kind in an action.

    Args:
      ctx: the rule's context.
      tool: File, the program. Actions of one program share its processes.
      arguments: Args, without line feeds.
      **kwargs: as in ctx.actions.run.
    """
    arguments.use_param_file("@%s", use_always = True)
    arguments.set_param_file_format("multiline")
    ctx.actions.run(
        executable = tool,
        arguments = [arguments],
        execution_requirements = kwargs.pop("execution_requirements", {}) | {
            "requires-worker-protocol": "json",
            "supports-workers": "1",
            # Otherwise each mnemonic has processes of its own.
            "worker-key-mnemonic": tool.basename,
        },
        **kwargs
    )
