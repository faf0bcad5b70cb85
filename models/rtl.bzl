"""rtl_tests: models on CPU designs in gates."""

load("//tools/rules:defs.bzl", "bm_firmware", "bm_runs_test")

# Design, which is the name of its board -> the ISA of its kernels, and other environments of that ISA: the board and the
# environment.
_DESIGNS = {
    "litex_ibex": ("rv32imc", [("qemu_virt_rv32", "scalar"), ("spike_rv32", "scalar")]),
    "litex_vexriscv": ("rv32imc", [("qemu_virt_rv32", "scalar"), ("spike_rv32", "scalar")]),
}

def rtl_tests(*, name, models, designs):
    """Makes the images `<name>.<design>`, and `<name>_rtl_<ISA>_test`: the same bits there, in QEMU and on Spike.

    Args:
      name: prefix of the targets.
      models: bm_models, all in one image.
      designs: boards with the environment `:rtl`.
    """
    for isa in sorted({_DESIGNS[design][0]: None for design in designs}):
        ours = [design for design in designs if _DESIGNS[design][0] == isa]
        firmwares = {}
        for board, env in [(design, "rtl") for design in ours] + _DESIGNS[ours[0]][1]:
            image = "{}.{}".format(name, board)
            env = "//boards/{}:{}".format(board, env)
            firmwares[image] = [env]
            bm_firmware(
                name = image,
                board = "//boards/" + board,
                isa = isa,
                models = models,
                run_env = env,
            )
        bm_runs_test(
            name = "{}_rtl_{}".format(name, isa),
            agree = True,
            firmwares = firmwares,
            tags = ["rtl"],
        )
