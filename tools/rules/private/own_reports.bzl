"""Reports of images of several targets, side by side in the runfiles of one program."""

def own_reports(ctx, firmware, side):
    """Links a firmware's model reports to names of their own.

    In runfiles, the reports of one model for two targets have the same path.

    Args:
      ctx: the rule's context.
      firmware: BmFirmwareInfo.
      side: string, tells this firmware from others of the same rule.

    Returns:
      list of File, one per model.
    """
    links = []
    for index, report in enumerate(firmware.model_reports):
        link = ctx.actions.declare_file("{}.{}{}.json".format(ctx.label.name, side, index))
        ctx.actions.symlink(output = link, target_file = report)
        links.append(link)
    return links
