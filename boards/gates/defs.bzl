"""litex_board: a board that is a CPU design in RTL, in a simulator."""

load("@bazel_skylib//rules:write_file.bzl", "write_file")
load("//tools/rules:defs.bzl", "bm_exec_env")
load(":described.bzl", "litex_described")
load(":simulator.bzl", "litex_simulator")
load(":soc.bzl", "litex_soc")

# A flash chip with four lines sends a word in eight cycles of its clock.
FLASH_WAIT = 8

def _data_cache(size):
    return "_data_cache_{}k".format(size // 1024) if size else ""

def litex_board(*, name, cpu, variant, isa, title, rom_bytes, ram_bytes, stack_bytes, cycles, pace, reset_offset = 0, misa = "", devices = {}, device_files = [], data_caches = []):
    """A system around a CPU design: the board `name`, and the environments `:rtl` and `:rtl_flash`.

    They simulate its gates. In `:rtl_flash` the ROM is as slow as a flash chip from which code runs; `:flash.json` says
    so to models (`memories` of bm_model).

    Args:
      name: of the board, which is also its folder's.
      cpu: CPU, as LiteX names it.
      variant: of the CPU, as LiteX names it.
      isa: ISA of its kernels.
      title: what the board is, in a few words.
      rom_bytes: ROM, in bytes, from which code runs.
      ram_bytes: RAM, in bytes.
      stack_bytes: stack, in bytes.
      cycles: after so many, a run has failed.
      pace: how long cycles take, for those who wait.
      reset_offset: where in the ROM the CPU starts.
      misa: letters of the extensions, for a design whose register is wrong.
      devices: dict from the name of a device beside the CPU, as kernel libraries know it, to the Python file that
        adds it: docs/how-to/accelerator-in-gates.md.
      data_caches: more sizes of the data cache, in bytes; each has an environment, such as `:rtl_data_cache_16k`.
      device_files: what these files import or instantiate, such as Verilog.
    """
    files = {file: [] for file in devices.values()}
    for device, file in devices.items():
        files[file].append(device)
    for data_cache in [0] + data_caches:
        suffix = _data_cache(data_cache)
        litex_soc(
            name = "soc" + suffix,
            cpu = cpu,
            data_cache_bytes = data_cache,
            device_files = device_files,
            devices = {file: " ".join(names) for file, names in files.items()},
            ram_bytes = ram_bytes,
            rom_bytes = rom_bytes,
            variant = variant,
        )
        litex_simulator(
            name = "simulator" + suffix,
            design = "soc" + suffix,
            header = "soc.h",
            top = "system",
        )
    litex_described(
        name = name,
        devices = devices.keys(),
        isa = isa,
        misa = misa,
        reset_offset = reset_offset,
        soc = ":soc",
        stack_bytes = stack_bytes,
        title = title,
    )
    bm_exec_env(
        name = "rtl",
        args = [str(cycles), "{elf}"],
        board = name,
        deadline_seconds = 1800,
        cycles_of = "{} in gates, whose ROM is as fast as its RAM".format(cpu),
        devices = devices.keys(),
        emulator = ":simulator",
        pace = "in gates ({})".format(pace),
    )
    write_file(
        name = "flash_memories",
        out = "flash.json",
        content = [json.encode_indent({
            "name": name,
            "memory": [
                {"name": "rom", "length": "%d" % rom_bytes, "word_cycles": 1 + FLASH_WAIT},
                {"name": "ram", "length": "%d" % ram_bytes, "word_cycles": 1},
            ],
        }), ""],
        newline = "unix",
    )
    bm_exec_env(
        name = "rtl_flash",
        args = [str(FLASH_WAIT)],
        base = ":rtl",
        cycles_of = "{} in gates, whose ROM is flash: each word takes {} cycles longer".format(cpu, FLASH_WAIT),
    )
    for data_cache in data_caches:
        bm_exec_env(
            name = "rtl" + _data_cache(data_cache),
            base = ":rtl",
            cycles_of = "{} in gates, with a data cache of {} KB".format(cpu, data_cache // 1024),
            emulator = ":simulator" + _data_cache(data_cache),
        )
