"""bm_board: a board as a target."""

load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//tools/rules:providers.bzl", "BmBoardInfo")

def _bm_board_impl(ctx):
    return [
        DefaultInfo(files = depset([ctx.file.description] + ctx.files.flash_files)),
        BmBoardInfo(
            name = ctx.label.name,
            platform = ctx.attr.platform.label,
            description = ctx.file.description,
            flash_files = ctx.files.flash_files,
            flash_image = ctx.attr.flash_image,
            memory = ctx.file.memory,
            hal = ctx.attr.hal[CcInfo],
        ),
    ]

bm_board = rule(
    implementation = _bm_board_impl,
    doc = "Describes a board: where its memory is, and the code that drives it.",
    attrs = {
        "description": attr.label(
            doc = "board.json: memory regions, ISA and VLEN, for tools.",
            allow_single_file = [".json"],
            mandatory = True,
        ),
        "flash_files": attr.label_list(
            doc = "Files that flashing reads besides board.json, e.g. openocd.cfg.",
            allow_files = True,
        ),
        "flash_image": attr.bool(
            doc = """Also make images as the contents of the whole flash chip, with the size
            flash.methods.pflash.size from board.json: `{flash}` in an execution environment.""",
        ),
        "hal": attr.label(
            doc = "cc_library that implements runtime_bm/hal/hal.h.",
            providers = [CcInfo],
            mandatory = True,
        ),
        "memory": attr.label(
            doc = "memory.ldh: the board's part of the linker script. Omitted for a hosted board.",
            allow_single_file = [".ldh"],
        ),
        "platform": attr.label(
            doc = "Platform that firmware for this board is compiled for.",
            mandatory = True,
        ),
    },
    provides = [BmBoardInfo],
)
