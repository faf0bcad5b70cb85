"""bm_firmware: models + runtime + board, linked into one image that checks itself."""

load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//tools/rules:providers.bzl", "BmBoardInfo", "BmModelInfo")
load("//tools/rules/private:c_names.bzl", "check_distinct_names")
load("//tools/rules/private:image.bzl", "IMAGE_ATTRS", "IMAGE_RULE", "image_name", "image_providers", "link_image")
load("//tools/rules/private:run_tool.bzl", "run_tool")
load("//tools/rules/private:transitions.bzl", "c_transition", "tool_transition")

_FIRMWARE_C = """// Generated: the models of this image.
#include "runtime_bm/app/firmware.h"

{includes}

static {together} {{
{arenas}
}} arena BM_FIRMWARE_ARENA;
const bm_span_t bm_firmware_arena = {{(uint8_t *)&arena, sizeof(arena)}};
{codes}
const bm_firmware_model_t bm_firmware_models[] = {{
{models}
}};
const uint32_t bm_firmware_model_count = {count};

{goldens}
const bm_golden_t *const bm_firmware_goldens[] = {{
{golden_pointers}
}};

const char bm_firmware_board[] = "{board}";
const char bm_firmware_isa[] = "{isa}";
{devices}
const bm_device_use_function_t bm_firmware_devices[] = {{{uses}NULL}};
"""

# A device that kernel libraries drive.
_DEVICE_C = """bm_device_use_t bm_device_{device}_use(void);
"""
_ADDRESS_C = """extern const uintptr_t bm_device_{device};
const uintptr_t bm_device_{device} = {address};
"""

# How a model's kernels are placed in memory.
_CODE_SPAN = {
    "loaded": "{{{name}_code, sizeof({name}_code)}}",
    "prelinked": "{{NULL, 0}}",
}

def firmware_c(board, isa, models, shared_arena = True):
    """Returns the C source of an image: its models, their arena and their golden data.

    Args:
      board: BmBoardInfo.
      isa: string.
      models: list of structs with c_name, header and kernels, as in BmModelInfo.
      shared_arena: whether the arena is as large as the largest model needs. Otherwise each has its own, one behind
        the other.

    Returns:
      string.
    """

    def lines(template, of = models):
        return "\n".join([template.format(
            name = model.c_name,
            header = model.header,
            span = _CODE_SPAN[model.kernels].format(name = model.c_name),
            upper = model.c_name.upper(),
        ) for model in of])

    devices = {device: None for model in models for device in model.devices}
    return _FIRMWARE_C.format(
        arenas = lines("  uint8_t BM_ALIGNED {name}[{upper}_ARENA_BYTES];"),
        board = board.name,
        codes = lines(
            "static uint8_t {name}_code[{upper}_CODE_BYTES] BM_FIRMWARE_CODE;",
            of = [model for model in models if model.kernels == "loaded"],
        ),
        count = len(models),
        devices = "".join([
            _DEVICE_C.format(device = device) +
            (_ADDRESS_C.format(device = device, address = board.devices[device]) if board.devices[device] else "")
            for device in devices
        ]),
        golden_pointers = lines("    &{name}_golden,"),
        goldens = lines("extern const bm_golden_t {name}_golden;"),
        includes = lines("#include \"{header}\""),
        isa = isa,
        together = "union" if shared_arena else "struct",
        models = lines("    {{\"{name}\", &{name}_plan, {span}}},"),
        uses = "".join(["bm_device_{}_use, ".format(device) for device in devices]),
    )

def _check_devices(label, board, models):
    """Fails if a model has kernel libraries for devices that the board lacks."""
    for model in models:
        absent = [device for device in model[BmModelInfo].devices if device not in board.devices]
        if absent:
            fail(("{}: kernel libraries of {} need {}, which the board {} does not have: build the firmware for another " +
                  "board, or leave them out of `kernels` of the model").format(label, model.label, ", ".join(absent), board.name))

def _check_room(ctx, board, reports):
    """Returns a stamp that exists only if the models can fit; its message is clearer than the linker's."""
    stamp = ctx.actions.declare_file(image_name(ctx) + ".room")
    args = ctx.actions.args()
    args.add("room")
    args.add("--board", board.description)
    args.add_all(reports, before_each = "--model-report")
    args.add("--out", stamp)
    run_tool(
        ctx,
        mnemonic = "BmRoom",
        tool = ctx.executable._size,
        arguments = args,
        inputs = [board.description] + reports,
        outputs = [stamp],
    )
    return stamp

def _report(ctx, map_file, board, reports):
    report = ctx.actions.declare_file(image_name(ctx) + ".report.json")
    args = ctx.actions.args()
    args.add("report")
    args.add("--map", map_file)
    args.add("--board", board.description)
    args.add_all(reports, before_each = "--model-report")
    if ctx.attr.ram:
        args.add("--ram", ctx.attr.ram)
    args.add("--out", report)
    run_tool(
        ctx,
        mnemonic = "BmReport",
        tool = ctx.executable._size,
        arguments = args,
        inputs = [map_file, board.description] + reports,
        outputs = [report],
    )
    return report

def _bm_firmware_impl(ctx):
    board = ctx.attr.board[BmBoardInfo]
    models = [target[BmModelInfo] for target in ctx.attr.models]
    reports = [model.report for model in models]
    _check_devices(ctx.label, board, ctx.attr.models)
    check_distinct_names(ctx.label, ctx.attr.models)
    libraries = [model.cc_info for model in models] + [dep[CcInfo] for (dep,) in [
        ctx.attr.main,
        ctx.attr._profile_on if ctx.attr.profile else ctx.attr._profile_off,
        ctx.attr.hooks,
        ctx.attr._firmware,
    ]]
    image = link_image(
        ctx,
        libraries,
        models = [model.c_name for model in models],
        source = firmware_c(board, ctx.attr.isa, models, ctx.attr.shared_arena),
        stamps = [_check_room(ctx, board, reports)] if board.linker_script else [],
    )
    return image_providers(ctx, image, models, _report(ctx, image.map, board, reports))

bm_firmware = rule(
    implementation = _bm_firmware_impl,
    doc = """Links models, the runtime and a board into one image that checks itself.

    The models share one arena, as large as the largest of them needs; they run one after the other.

    Output groups: elf, bin, map, disasm, report; golden, the models' inputs and expected outputs
    (`runtime_bm/app/golden.h`); and, if the board sets `flash_image`, flash, the contents of the whole
    flash chip. `bazel run` boots it in `run_env`.""",
    attrs = IMAGE_ATTRS | {
        "hooks": attr.label(
            doc = "cc_library with the model's own runtime_bm/app/hooks.h functions.",
            cfg = c_transition,
            default = "//runtime_bm/app:hooks_default",
            providers = [CcInfo],
        ),
        "main": attr.label(
            doc = """cc_library with main(): an application of your own instead of the self-check.
            runtime_bm/app/models.h lists the models of its image.""",
            cfg = c_transition,
            default = "//runtime_bm/app:main",
            providers = [CcInfo],
        ),
        "models": attr.label_list(
            doc = "bm_model targets, in the order in which they are checked.",
            allow_empty = False,
            mandatory = True,
            providers = [BmModelInfo],
        ),
        "ram": attr.int(
            doc = """Bytes of RAM that the image may take: arena, state, variables, and the stack that the board
            reserves, where kernels have their scratch memory. It does not build if it takes more. 0: any.""",
        ),
        "shared_arena": attr.bool(
            doc = "Whether the models run one after the other, in one arena. Otherwise each has its own.",
            default = True,
        ),
        "profile": attr.bool(doc = "Count the instructions of every dispatch and print them."),
        "_firmware": attr.label(default = "//runtime_bm/app:firmware", cfg = c_transition),
        "_profile_off": attr.label(default = "//runtime_bm/app:profile_off", cfg = c_transition),
        "_profile_on": attr.label(default = "//runtime_bm/app:profile_on", cfg = c_transition),
        "_size": attr.label(default = "//tools/report:size", executable = True, cfg = tool_transition),
    },
    **IMAGE_RULE
)
