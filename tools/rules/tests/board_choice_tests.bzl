"""What a suite's target is if `--board` names a board."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")

def _chooses_impl(ctx):
    env = analysistest.begin(ctx)
    target = analysistest.target_under_test(env)
    files = target[DefaultInfo].files.to_list()
    images = target[OutputGroupInfo].elf.to_list()
    asserts.true(env, files and images, "the suite has no files, or no images")
    for file in files + images:
        asserts.true(
            env,
            "._for_{}".format(ctx.attr.isa) in file.basename and ".{}.".format(ctx.attr.board) in file.basename,
            "{} is another board's".format(file.basename),
        )
    return analysistest.end(env)

def _chooses_test(board):
    return analysistest.make(
        _chooses_impl,
        attrs = {
            "board": attr.string(doc = "Name of the board.", mandatory = True),
            "isa": attr.string(doc = "ISA of the board.", mandatory = True),
        },
        config_settings = {str(Label("//boards:board")): str(Label("//boards/" + board))},
    )

def _reports_impl(ctx):
    env = analysistest.begin(ctx)
    runfiles = analysistest.target_under_test(env)[DefaultInfo].default_runfiles.files.to_list()
    shown = [file.basename for file in runfiles if file.basename.endswith(".report.json")]
    asserts.equals(env, 1, len(shown))
    asserts.true(env, shown[0].endswith("._for_rv32imac.qemu_virt_rv32.report.json"), "it shows {}".format(shown[0]))
    return analysistest.end(env)

_report_test = analysistest.make(
    _reports_impl,
    config_settings = {str(Label("//boards:board")): str(Label("//boards/qemu_virt_rv32"))},
)

_qemu_virt_rv32_test = _chooses_test("qemu_virt_rv32")
_bpi_f3_test = _chooses_test("bpi_f3")

def board_choice_tests(name, suite):
    """Tests that the files of a suite of rv64 are a board's, of 64 and of 32 bits, and that its report is one's.

    Args:
      name: name of the test suite.
      suite: a bm_model_suite.
    """
    tests = {"bpi_f3": (_bpi_f3_test, "rv64gcv"), "qemu_virt_rv32": (_qemu_virt_rv32_test, "rv32")}
    for board, (rule, isa) in tests.items():
        rule(
            name = "{}_{}_test".format(name, board),
            board = board,
            isa = isa,
            target_under_test = suite,
        )
    _report_test(
        name = name + "_report_test",
        target_under_test = suite + ".report",
    )
    native.test_suite(
        name = name,
        tests = ["{}_{}_test".format(name, board) for board in tests] + [name + "_report_test"],
    )
