"""bm_firmware: model + runtime + board, linked into one image that checks itself."""

load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//tools/rules:providers.bzl", "BmBoardInfo", "BmModelInfo")
load("//tools/rules/private:image.bzl", "IMAGE_ATTRS", "IMAGE_RULE", "image_providers", "link_image")

_FIRMWARE_C = """// Generated: the one model of this image.
#include "runtime_bm/app/firmware.h"

#include "{plan_h}"

extern const bm_golden_t {name}_golden;

static uint8_t arena[{upper}_ARENA_BYTES] BM_FIRMWARE_ARENA;

const bm_plan_t *const bm_firmware_plan = &{name}_plan;
const bm_golden_t *const bm_firmware_golden = &{name}_golden;
const char bm_firmware_board[] = "{board}";
const char bm_firmware_isa[] = "{isa}";
const bm_span_t bm_firmware_arena = {{arena, sizeof(arena)}};
{code}"""

_CODE = {
    "loaded": """static uint8_t code[{upper}_CODE_BYTES] BM_FIRMWARE_CODE;
const bm_span_t bm_firmware_code = {{code, sizeof(code)}};
""",
    "prelinked": """const bm_span_t bm_firmware_code = {{0, 0}};
""",
}

def _write_source(ctx, board, model):
    source = ctx.actions.declare_file(ctx.label.name + "_firmware.c")
    ctx.actions.write(source, _FIRMWARE_C.format(
        name = model.c_name,
        plan_h = model.plan_h,
        upper = model.c_name.upper(),
        code = _CODE[model.kernels].format(upper = model.c_name.upper()),
        board = board.name,
        isa = model.isa,
    ))
    return source

def _check_room(ctx, board, model):
    """Returns a stamp that exists only if the model can fit: a sentence before the linker's."""
    stamp = ctx.actions.declare_file(ctx.label.name + ".room")
    args = ctx.actions.args()
    args.add("room")
    args.add("--board", board.description)
    args.add("--model-report", model.report)
    args.add("--out", stamp)
    ctx.actions.run(
        mnemonic = "BmRoom",
        executable = ctx.executable._size,
        arguments = [args],
        inputs = [board.description, model.report],
        outputs = [stamp],
    )
    return stamp

def _report(ctx, map_file, board, model):
    report = ctx.actions.declare_file(ctx.label.name + ".report.json")
    args = ctx.actions.args()
    args.add("report")
    args.add("--map", map_file)
    args.add("--board", board.description)
    args.add("--model-report", model.report)
    args.add("--out", report)
    ctx.actions.run(
        mnemonic = "BmReport",
        executable = ctx.executable._size,
        arguments = [args],
        inputs = [map_file, board.description, model.report],
        outputs = [report],
    )
    return report

def _bm_firmware_impl(ctx):
    board = ctx.attr.board[BmBoardInfo]
    model = ctx.attr.model[BmModelInfo]
    libraries = [model.cc_info] + [dep[CcInfo] for dep in [
        ctx.attr._main,
        ctx.attr._profile_on if ctx.attr.profile else ctx.attr._profile_off,
        ctx.attr.hooks,
    ]]
    image = link_image(
        ctx,
        libraries,
        source = _write_source(ctx, board, model),
        stamps = [_check_room(ctx, board, model)] if board.memory else [],
    )
    return image_providers(ctx, image, model.report, _report(ctx, image.map, board, model))

bm_firmware = rule(
    implementation = _bm_firmware_impl,
    doc = """Links a model, the runtime and a board into one image that checks itself.

    Output groups: elf, bin, map, disasm, report. `bazel run` boots it in `run_env`.""",
    attrs = IMAGE_ATTRS | {
        "hooks": attr.label(
            doc = "cc_library with the model's own runtime_bm/app/hooks.h functions.",
            default = "//runtime_bm/app:hooks_default",
            providers = [CcInfo],
        ),
        "model": attr.label(mandatory = True, providers = [BmModelInfo]),
        "profile": attr.bool(doc = "Count the instructions of every dispatch and print them."),
        "_main": attr.label(default = "//runtime_bm/app:main"),
        "_profile_off": attr.label(default = "//runtime_bm/app:profile_off"),
        "_profile_on": attr.label(default = "//runtime_bm/app:profile_on"),
        "_size": attr.label(default = "//tools/size", executable = True, cfg = "exec"),
    },
    **IMAGE_RULE
)
