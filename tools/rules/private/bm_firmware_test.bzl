"""bm_firmware_test: one test for every execution environment, from one recorded run each."""

load("//tools/rules/private:bm_run.bzl", "bm_run")
load("//tools/rules/private:bm_run_test.bzl", "bm_run_test")

def recorded_run(*, name, exec_env, tags, **kwargs):
    """Makes the bm_run `<name>_<env>.run`.

    Args:
      name: prefix of the run.
      exec_env: bm_exec_env label.
      tags: tags of the run.
      **kwargs: attributes of bm_run.

    Returns:
      name of the run.
    """
    run = "{}_{}.run".format(name, _env_name(exec_env))
    bm_run(name = run, exec_env = exec_env, tags = tags + ["manual"], **kwargs)
    return run

def _env_name(env):
    label = native.package_relative_label(env)
    return "{}_{}".format(label.package.split("/")[-1], label.name)

def bm_firmware_test(
        *,
        name,
        firmware,
        exec_envs,
        expect = "",
        text = "",
        tags = [],
        allow_smaller_vlen = False,
        **kwargs):
    """Makes `<name>_<env>_test` for every environment.

    Args:
      name: prefix of the tests.
      firmware: bm_firmware that boots.
      exec_envs: dict from bm_exec_env label to the tags its tests carry.
      expect: how the run must end: PASS, FAIL, ERROR, TRAP or EXIT; default: as the firmware says.
      text: text that the expected record must contain; for EXIT, a line of the console.
      tags: tags of every test.
      allow_smaller_vlen: also boot if the hart's VLEN is too small.
      **kwargs: attributes of every target.

    Returns:
      dict from each environment to the name of its run.
    """
    runs = {}
    for env, env_tags in exec_envs.items():
        run = recorded_run(
            name = name,
            allow_smaller_vlen = allow_smaller_vlen,
            exec_env = env,
            firmware = firmware,
            tags = tags,
            **kwargs
        )
        bm_run_test(
            name = "{}_{}_test".format(name, _env_name(env)),
            expect = expect,
            runs = [run],
            tags = tags + env_tags,
            text = text,
            **kwargs
        )
        runs[env] = run
    return runs
