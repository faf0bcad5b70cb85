"""bm_board: a board as a target."""

load("@bazel_skylib//rules:common_settings.bzl", "BuildSettingInfo")
load("@bazel_skylib//rules:write_file.bzl", "write_file")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain", "use_cpp_toolchain")
load("@rules_cc//cc:defs.bzl", "cc_library")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//tools/rules:providers.bzl", "BmBoardInfo", "BmExecEnvInfo")
load("//tools/rules/private:board_files.bzl", "board_files")
load("//tools/rules/private:image_note.bzl", "note_c")
load("//tools/rules/private:transitions.bzl", "board_platform_transition", "c_transition", "check_isa")

def _linker_script(ctx, toolchain, features):
    """Returns the linker script: the runtime's sections over the board's memory."""
    script = ctx.actions.declare_file(ctx.label.name + ".ld")
    compiler = cc_common.get_tool_for_action(feature_configuration = features, action_name = "c-compile")
    args = ctx.actions.args()
    args.add_all(cc_common.get_memory_inefficient_command_line(
        feature_configuration = features,
        action_name = "preprocess-assemble",
        variables = cc_common.create_compile_variables(
            feature_configuration = features,
            cc_toolchain = toolchain,
        ),
    ))
    args.add("-DBM_HARTS={}".format(ctx.attr._harts[BuildSettingInfo].value))
    args.add_all(["-E", "-P", "-x", "assembler-with-cpp", "-I", ctx.file.memory.dirname])
    args.add(ctx.file._sections)
    args.add("-o", script)
    ctx.actions.run(
        mnemonic = "BmLinkerScript",
        executable = compiler,
        arguments = [args],
        inputs = depset([ctx.file.memory, ctx.file._sections], transitive = [toolchain.all_files]),
        outputs = [script],
    )
    return script

def _note(ctx, toolchain, features):
    """Returns the note of images without models, compiled: it is the same in all of them."""
    source = ctx.actions.declare_file(ctx.label.name + "_note.c")
    ctx.actions.write(source, note_c(ctx.label.name, ctx.attr._isa[BuildSettingInfo].value, []))
    _, outputs = cc_common.compile(
        name = ctx.label.name,
        actions = ctx.actions,
        feature_configuration = features,
        cc_toolchain = toolchain,
        srcs = [source],
    )
    return outputs

def _bm_board_impl(ctx):
    check_isa(ctx.label, ctx.attr.isa)
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    return [
        DefaultInfo(files = depset([ctx.file.description] + ctx.files.flash_files)),
        BmBoardInfo(
            name = ctx.label.name,
            isa = ctx.attr.isa,
            exec_env = ctx.attr.exec_env[BmExecEnvInfo] if ctx.attr.exec_env else None,
            devices = ctx.attr.devices,
            harts = ctx.attr.harts,
            platform = ctx.attr.platform.label,
            description = ctx.file.description,
            flash_files = ctx.files.flash_files,
            flash_image = ctx.attr.flash_image,
            linker_script = _linker_script(ctx, toolchain, features) if ctx.file.memory else None,
            note = _note(ctx, toolchain, features),
            weights_apart = ctx.attr.weights_apart,
            hal = ctx.attr.hal[0][CcInfo],
        ),
    ]

_bm_board = rule(
    implementation = _bm_board_impl,
    doc = "A board of its files.",
    attrs = {
        "description": attr.label(
            doc = "board.json.",
            allow_single_file = [".json"],
            mandatory = True,
        ),
        "devices": attr.string_dict(
            doc = "Devices that kernel libraries may use: the address of each one's registers; empty if `hal` has it.",
        ),
        "exec_env": attr.label(
            doc = "The emulator of the board.",
            providers = [BmExecEnvInfo],
        ),
        "flash_files": attr.label_list(
            doc = "Files that flashing reads besides board.json, e.g. openocd.cfg.",
            allow_files = True,
        ),
        "flash_image": attr.bool(
            doc = "Also make images as the contents of the whole flash chip.",
        ),
        "hal": attr.label(
            doc = "cc_library that implements runtime_bm/hal/hal.h.",
            cfg = c_transition,
            providers = [CcInfo],
            mandatory = True,
        ),
        "harts": attr.int(
            doc = "Its harts that an image may be for.",
            default = 1,
        ),
        "isa": attr.string(
            doc = "ISA of the kernels of a suite that is built for this board by `--board`.",
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
        "weights_apart": attr.bool(
            doc = "Whether the weights have a memory, and a raw file, of their own.",
        ),
        "_harts": attr.label(default = "//runtime_bm/harts:count"),
        "_isa": attr.label(default = "//tools/rules:isa"),
        "_sections": attr.label(
            default = "//runtime_bm/crt:link/sections.ld.S",
            allow_single_file = True,
        ),
    },
    cfg = board_platform_transition,
    fragments = ["cpp"],
    provides = [BmBoardInfo],
    toolchains = use_cpp_toolchain(),
)

def _defines(supervisor, first_hart, timebase_hz, device_tree, clint):
    """Returns what memory.ldh says beside memory (runtime_bm/crt/link/sections.ld.S)."""
    if supervisor:
        defines = {"BM_FIRST_HART": first_hart}
    else:
        defines = {
            "BM_BOOT_DEVICE_TREE": int(device_tree),
            "BM_BOOT_HART": first_hart,
            "BM_CLINT": clint and "0x%x" % clint,
            "BM_TIMEBASE_HZ": timebase_hz,
        }
    return {name: str(value) for name, value in defines.items() if value}

def _once(values):
    """Returns each value once, in the order in which they come."""
    return {value: None for value in values}.keys()

def _c_file(headers, functions):
    """Returns the lines of a C file, from what it includes and from declarations and bodies of functions."""
    lines = ["// Made of the board's facts (bm_board): change those and not this file."]
    lines += ["#include \"{}\"".format(header) for header in _once(headers)]
    for declaration, body in functions:
        lines += ["", declaration + " {"] + ["  " + line for line in body.splitlines()] + ["}"]
    return lines + [""]

def _code(console, exit, setup):
    """Returns board.c: the board's part of runtime_bm/hal/hal.h."""
    headers = ["{}/{}".format(native.package_name(), setup)] if setup else []
    starts = (["bm_board_setup();"] if setup else []) + ([console.init] if console.init else [])
    return _c_file(headers + console.headers + exit.headers + ["runtime_bm/hal/hal.h"], [
        ("void bm_hal_init(void)", "\n".join(starts)),
        ("void bm_hal_console_write(const char *bytes, size_t size)", console.write),
        ("void bm_hal_exit(uint32_t status)", exit.exit),
    ])

def _application(supervisor, console, exit, first_hart, timebase_hz, clint):
    """Returns app.c: what the board offers of runtime_bm/hal/application.h."""
    headers = console.headers + exit.headers
    functions = []
    if supervisor:
        if timebase_hz:
            functions.append(("uint32_t bm_hal_time_hz(void)", "return %d;" % timebase_hz))
    elif clint and timebase_hz:
        headers = headers + ["boards/common/clint.h", "runtime_bm/crt/stack.h"]
        functions += [
            ("uint64_t bm_hal_time(void)", "return bm_clint_time(0x%x);" % clint),
            ("uint32_t bm_hal_time_hz(void)", "return bm_board_facts.timebase_hz;"),
            ("void bm_hal_timer(uint64_t time)", "bm_clint_timer(0x%x, %d, time);" % (clint, first_hart)),
        ]
    if console.read:
        functions.append(("int32_t bm_hal_console_read(void)", "return {};".format(console.read)))
    if exit.power_off:
        functions.append(("void bm_hal_power_off(void)", exit.power_off))
    return _c_file(headers + ["runtime_bm/hal/application.h"], functions)

def _libraries(supervisor, console, exit, clint, harts):
    """Returns what board.c and app.c call, and the parts of the HAL that boards share."""
    if supervisor:
        shared = ["rv64_supervisor", "supervisor_app"] + (["sbi_harts"] if harts > 1 else [])
    else:
        shared = ["riscv"] + (["clint", "interrupts"] if clint else []) + (["clint_harts"] if harts > 1 else [])
    return sorted(_once([str(library) for library in console.libraries + exit.libraries + [
        Label("//boards/common:" + name)
        for name in shared
    ] + [
        Label("//runtime_bm/crt:crt_api"),
        Label("//runtime_bm/hal:application"),
        Label("//runtime_bm/hal:hal_api"),
    ]]))

_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}

def _number(text):
    """Returns the number that text such as `0x1000` or `16M` says; None if it is none."""
    digits = text[:-1] if text[-1:] in _UNITS else text
    base = 16 if digits.startswith("0x") else 10
    digits = digits.removeprefix("0x")
    if not digits or digits.strip("0123456789abcdefABCDEF"[:10 if base == 10 else 22]):
        return None
    return int(digits, base) * _UNITS.get(text[-1:], 1)

def _region(board, name, text, word_cycles):
    """Returns a memory of `board` that is described as in bm_board, for boards/board_files.py."""
    parts = [part.strip() for part in text.split(",")]
    numbers = [_number(part) for part in parts[:2]]
    holds = parts[2] if len(parts) == 3 else ""
    if len(parts) not in [2, 3] or None in numbers or holds not in ["", "arena", "fast", "weights"]:
        fail(("bm_board {}: the memory {} cannot be \"{}\": write its origin and its size, as in \"0x80000000, 16M\", " +
              "and behind them `weights`, `arena` or `fast` if it is for nothing else").format(board, name, text))
    return {"name": name, "origin": numbers[0], "length": numbers[1], "holds": holds, "word_cycles": word_cycles}

def bm_board(
        *,
        name,
        isa,
        title = "",
        memory = {},
        word_cycles = {},
        stack_bytes = 0,
        stack_guard_bytes = 16 << 10,
        console = None,
        exit = None,
        setup = "",
        mode = "machine",
        timebase_hz = 0,
        device_tree = False,
        clint = 0,
        first_hart = 0,
        harts = 1,
        flash = {},
        tested = "built",
        platform = None,
        description = None,
        hal = None,
        exec_env = None,
        devices = {},
        flash_files = None,
        flash_image = None,
        weights_apart = None,
        **kwargs):
    """A board, of which this says everything: where its memory is, and the code that drives it.

    It makes memory.ldh, the board's part of the linker script; board.json, for tools; and `:hal`, the board's code, of
    board.c and app.c. `memory`, `description` and `hal` may name files and a library of your own instead.

    Args:
      name: of the board, which is also its folder's.
      isa: ISA of the kernels of a suite that is built for this board by `--board`.
      title: what the board is, in a few words.
      memory: dict from the names of its memories to origin and size, such as `"0x80000000, 16M"`. The first holds code,
        constants and weights, the last what is written; they may be one. A memory between them says what alone it holds:
        `"0x22000000, 32M, weights"`, or `arena`, or `fast` for what models keep in fast memory. The raw form of an image with weights apart is two files, `.bin`
        without the weights and `.weights.bin`, and not one with the gap between them. Or the label of a memory.ldh of
        your own (runtime_bm/crt/link/sections.ld.S says what is in it), or nothing for a hosted board.
      word_cycles: dict from the names of its memories to the cycles that a word of four bytes takes there. With all of
        them, `memories` of bm_model may name this board's board.json.
      stack_bytes: stack of each hart, in bytes. Kernels spill whole vector registers: it is for the board's largest VLEN.
      stack_guard_bytes: guard below it, in bytes: a power of two of at least 64, enforced if the hart has PMP.
      console: driver of the console, e.g. `ns16550(0x10000000)` (boards/common/drivers.bzl).
      exit: driver that ends a run, e.g. `sifive_test(0x100000)`.
      setup: header in this folder with `static inline void bm_board_setup(void)`, for clocks and pins: it runs before the
        console is set up.
      mode: `"machine"`, or `"supervisor"` above firmware that has SBI.
      timebase_hz: ticks of the clock per second.
      device_tree: whether a1 points to a device tree at startup, with which `timebase_hz` is compared.
      clint: address of the core-local interruptor: the clock and timer of applications, and what wakes other harts.
        Machine mode only.
      first_hart: number of the hart that runs, or of the first of several.
      harts: its harts that an image may be for. With more than one, a `hal` of your own implements
        runtime_bm/hal/harts.h too.
      flash: dict from the ways to flash the board, the default first, to their settings (tools/flash/README.md). Those
        that follow from `memory` may be left out: `load`, and the `size` of `pflash`. With `pflash`, images are also made
        as the contents of the whole flash chip: `{flash}` in an execution environment.
      tested: `"run"`, or `"built"` if nobody has seen an image run there.
      platform: platform that firmware for this board is compiled for. Default: the one of the ISA.
      description: board.json of your own, which says what `title`, `memory`, `flash` and `tested` would.
      hal: cc_library of your own that implements runtime_bm/hal/hal.h, in place of `console`, `exit` and `setup`.
      exec_env: the emulator of the board, where `bazel run` boots its images, and `X.debug` and `X.bisect` run them. A
        board without one is reached by probe.
      devices: dict from the devices that kernel libraries may use to the address of each one's registers, such as
        `0x10020000`. If that is empty, `hal` defines `const uintptr_t bm_device_NAME`.
      flash_files: files that flashing reads besides board.json. Default: the `config` of `openocd`.
      flash_image: whether images are also made as the contents of the whole flash chip, with the size
        flash.methods.pflash.size from board.json. Default: if `flash` has `pflash`.
      weights_apart: set it if a memory.ldh of your own defines a BM_WEIGHTS_REGION. Default: if a memory holds weights.
      **kwargs: attributes of all rules, e.g. visibility.
    """
    if mode not in ["machine", "supervisor"]:
        fail("bm_board {}: mode = \"{}\" is unknown: use machine or supervisor".format(name, mode))
    supervisor = mode == "supervisor"
    made = type(memory) == "dict"
    if made and memory and not stack_bytes:
        fail("bm_board {}: set `stack_bytes`, the bytes of its stack".format(name))
    if not made and not description:
        fail("bm_board {}: with a memory.ldh of its own, name its board.json as `description`".format(name))
    if not hal and not (console and console.write and exit and exit.exit):
        fail(("bm_board {}: set `console` and `exit` to drivers of boards/common/drivers.bzl, or `hal` to a " +
              "cc_library of your own").format(name))
    if hal and (console or exit or setup):
        fail("bm_board {}: leave out either `hal`, or `console`, `exit` and `setup`".format(name))
    regions = [
        _region(name, region, text, word_cycles.get(region, 0))
        for region, text in memory.items()
    ] if made else []
    unknown = [region for region in word_cycles if region not in (memory if made else {})]
    if unknown:
        fail("bm_board {}: word_cycles names {}, which is not in `memory`".format(name, unknown[0]))
    common = {key: kwargs[key] for key in ["tags", "testonly", "visibility"] if key in kwargs}
    if not hal:
        hal = ":hal"
        files = {
            "app.c": _application(supervisor, console, exit, first_hart, timebase_hz, clint),
            "board.c": _code(console, exit, setup),
        }
        for file, lines in files.items():
            write_file(
                name = "{}._{}".format(name, file),
                out = file,
                content = lines,
                newline = "unix",
                **common
            )
        cc_library(
            name = "hal",
            srcs = files.keys() + ([setup] if setup else []),
            target_compatible_with = [Label("@platforms//os:none")],
            deps = _libraries(supervisor, console, exit, clint, harts),
            **common
        )
    if regions or not description:
        board_files(
            name = name + "._files",
            board = None if description else "board.json",
            facts = json.encode({
                "console": console.title if console else "",
                "defines": _defines(supervisor, first_hart, timebase_hz, device_tree, clint),
                "flash": flash.items(),
                "isa": isa,
                "memory": regions,
                "mode": mode,
                "name": name,
                "stack_bytes": stack_bytes,
                "stack_guard_bytes": stack_guard_bytes,
                "tested": tested,
                "title": title or name,
            }),
            memory = "memory.ldh" if regions else None,
            **common
        )
    _bm_board(
        name = name,
        description = description or "board.json",
        devices = devices,
        exec_env = exec_env,
        flash_files = flash.get("openocd", {}).get("config", []) if flash_files == None else flash_files,
        flash_image = "pflash" in flash if flash_image == None else flash_image,
        hal = hal,
        harts = harts,
        isa = isa,
        memory = ("memory.ldh" if regions else None) if made else memory,
        platform = platform or Label("//boards:{}_none".format("rv32" if isa.startswith("rv32") else "rv64")),
        weights_apart = "weights" in [region["holds"] for region in regions] if weights_apart == None else weights_apart,
        **kwargs
    )
