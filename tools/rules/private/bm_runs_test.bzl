"""bm_runs_test: one test of many recorded runs, which names those to blame."""

load("//tools/rules/private:bm_firmware_test.bzl", "recorded_run")
load("//tools/rules/private:bm_run_test.bzl", "bm_run_test")

def _emulator_of(env):
    """Returns the tag of tests that run in an environment, as its label tells it: `qemu`, `spike`, `rtl` or `host`."""
    label = native.package_relative_label(env)
    for part, tag in {"rtl": "rtl", "native": "host", "qemu": "qemu"}.items():
        if label.name.startswith(part):
            return tag
    return "spike" if "spike" in label.package else "qemu"

def bm_runs_test(
        *,
        name,
        firmwares,
        agree = False,
        expect = "PASS",
        text = "",
        tags = [],
        allow_smaller_vlen = False,
        **kwargs):
    """Makes `<name>_test`, which judges the runs of some firmwares, in QEMU, on Spike and elsewhere.

    Args:
      name: prefix of the test and of the runs.
      firmwares: dict from bm_firmware to the labels of the environments it is booted in.
      agree: all must pass and compute the same bits; the firmwares have the same kernels.
      expect: how every run must end: PASS, FAIL, ERROR, TRAP or EXIT.
      text: text that the expected record must contain; for EXIT, a line of the console.
      tags: tags of the test, beside those of the emulators.
      allow_smaller_vlen: boot where the hart's VLEN is too small.
      **kwargs: attributes of every target.

    Returns:
      dict from the label of each environment to its recorded run.
    """
    runs = {
        env: recorded_run(
            name = name,
            allow_smaller_vlen = allow_smaller_vlen,
            exec_env = env,
            firmware = firmware,
            tags = tags,
            **kwargs
        )
        for firmware, envs in firmwares.items()
        for env in envs
    }
    bm_run_test(
        name = name + "_test",
        agree = agree,
        expect = expect,
        runs = runs.values(),
        tags = tags + {_emulator_of(env): None for env in runs}.keys(),
        text = text,
        **kwargs
    )
    return runs
