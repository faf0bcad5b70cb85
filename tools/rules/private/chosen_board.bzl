"""chosen_board: the ISA of the board that `--board` names, for select()."""

load("//compiler/bmc:isas.bzl", "ISAS")
load("//tools/rules:providers.bzl", "BmBoardInfo")
load("//tools/rules/private:transitions.bzl", "CHOSEN_BOARD", "NO_BOARD", "question_transition")

def _chosen_board_impl(ctx):
    board = ctx.attr._board[0]
    if BmBoardInfo in board:
        isa = board[BmBoardInfo].isa
    elif board.label == NO_BOARD:
        isa = ""
    else:
        fail("--board={} is not a bm_board: name a board by its label, e.g. {}".format(
            board.label,
            Label("//boards/bpi_f3"),
        ))
    return [config_common.FeatureFlagInfo(value = isa)]

chosen_board = rule(
    implementation = _chosen_board_impl,
    doc = "For config_setting: the ISA of the kernels for the chosen board, empty if none is chosen.",
    attrs = {
        "_board": attr.label(
            cfg = question_transition,
            default = CHOSEN_BOARD,
        ),
    },
)

def by_chosen_board(of_isa, otherwise):
    """Returns a select() on the board that `--board` names.

    Args:
      of_isa: function that returns what is selected for a board, from its ISA.
      otherwise: what is selected if no board is named.
    """
    return select({
        Label("//tools/rules:board_has_" + isa): of_isa(isa)
        for isa in ISAS
    } | {"//conditions:default": otherwise})
