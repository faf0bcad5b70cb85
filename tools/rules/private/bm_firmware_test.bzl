"""bm_firmware_test: one test for every execution environment, from one recorded run each."""

load("//tools/rules/private:bm_run.bzl", "bm_run")
load("//tools/rules/private:bm_run_test.bzl", "bm_run_test")

def bm_firmware_test(
        *,
        name,
        firmware,
        exec_envs,
        expect = "PASS",
        text = "",
        tags = [],
        allow_smaller_vlen = False,
        **kwargs):
    """Makes `<name>_<env>_test` for every environment.

    Args:
      name: prefix of the tests.
      firmware: bm_firmware that boots.
      exec_envs: dict from bm_exec_env label to the tags its tests carry.
      expect: how the run must end: PASS, FAIL, ERROR or TRAP.
      text: text that the expected record must contain.
      tags: tags of every test.
      allow_smaller_vlen: also boot if the hart's VLEN is too small.
      **kwargs: attributes of every target.

    Returns:
      list of string: labels of the recorded runs, for bm_run_test(agree = True).
    """
    runs = []
    for env, env_tags in exec_envs.items():
        env_name = "{}_{}".format(Label(env).package.split("/")[-1], Label(env).name)
        run = "{}_{}.run".format(name, env_name)
        bm_run(
            name = run,
            allow_smaller_vlen = allow_smaller_vlen,
            exec_env = env,
            firmware = firmware,
            tags = tags + ["manual"],
            **kwargs
        )
        bm_run_test(
            name = "{}_{}_test".format(name, env_name),
            expect = expect,
            runs = [run],
            tags = tags + env_tags,
            text = text,
            **kwargs
        )
        runs.append(run)
    return runs
