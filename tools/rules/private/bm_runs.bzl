"""bm_runs: images of the same code for several places, and one test of how all their runs end."""

load("//tools/rules/private:bm_firmware.bzl", "bm_firmware")
load("//tools/rules/private:bm_image.bzl", "bm_image")
load("//tools/rules/private:bm_runs_test.bzl", "bm_runs_test")

def bm_runs(
        *,
        name,
        on,
        models = [],
        deps = [],
        main = None,
        harts = 1,
        images = {},
        image_tags = [],
        firmwares = {},
        profile = [],
        agree = False,
        expect = "PASS",
        text = "",
        tags = [],
        **kwargs):
    """Makes an image for each board, and `<name>_test`, which judges the runs of all of them.

    Args:
      name: prefix of the test and of the runs.
      on: dict from an ISA to the places where its images run, each `BOARD:ENV` for `//boards/BOARD:ENV`. What is not
        below `//boards` is a label of a bm_exec_env, in a package with the name of its board.
      models: bm_models, all in one image.
      deps: without models, cc_library targets, one of which has main().
      main: cc_library with main(), if not the self-check's, of images with models.
      harts: harts that the images are for.
      images: dict from a board to the name of its image. Others are `<name>._<board>`, which wildcards leave out.
      image_tags: tags of those in `images`.
      firmwares: dict from other images, which the test judges too, to the labels of their environments.
      profile: boards whose images count the instructions of every dispatch.
      agree: all must pass and compute the same bits. The images have the same kernels, so they are for one ISA.
      expect: how every run must end: PASS, FAIL, ERROR, TRAP, or EXIT for a main of your own. Only what ends in ERROR
        may run where the hart's VLEN is too small, or harts or an extension are absent.
      text: text that the expected record must contain; for EXIT, a line of the console.
      tags: tags of the test, beside those of the emulators.
      **kwargs: attributes of every target, e.g. testonly.

    Returns:
      dict from the label of each environment to its recorded run.
    """
    if agree and len(on) > 1:
        fail("{}: kernels of {} compute different bits: name one ISA, or leave out `agree`".format(name, " and ".join(on)))
    is_refused = expect == "ERROR"
    booted = dict(firmwares)
    for isa, places in on.items():
        for place in places:
            env = native.package_relative_label(place if str(place)[0] in "/@:" else "//boards/" + place)
            board = env.package.split("/")[-1]
            image = images.get(board, "{}._{}".format(name, board))
            if image in booted:
                booted[image].append(env)
                continue
            booted[image] = [env]
            attributes = dict(
                kwargs,
                name = image,
                board = env.same_package_label(board),
                expect = "EXIT" if expect == "EXIT" else "PASS",
                harts = harts,
                isa = isa,
                # `bazel run` boots an image where it suits the hart.
                run_env = None if is_refused else env,
                tags = image_tags if board in images else tags + ["manual"],
            )
            if not models:
                bm_image(deps = deps, **attributes)
                continue
            bm_firmware(
                models = models,
                profile = board in profile,
                **(attributes | ({"main": main} if main else {}))
            )
    return bm_runs_test(
        name = name,
        agree = agree,
        allow_smaller_vlen = is_refused,
        expect = expect,
        firmwares = booted,
        tags = tags,
        text = text,
        **kwargs
    )
