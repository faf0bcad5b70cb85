"""A room of Python tools, which is one folder: its libraries, programs and tests, as far as they are special.

What a part consists of are words in a string, as in `runtime_bm/c_room.bzl`. `rows.py` is a file of it, besides
`<part>.py`, which needs no word. The others are what it depends on: `:table` is a part of the same room, `run` is
//tools/run, `run:judge` is //tools/run:judge, what begins with `//` is a label, and `@rich` is a Python package.

    tool_room(
        name = "report",
        libraries = {"report": "rows.py //compiler/bmc:report", "table": "@rich"},
        programs = {"size": ":report run", "show": ":report :table"},
    )

What actions of the build run is a part without what only people and tests need: such a program starts for each image,
and runs again if one of its files changes.
"""

load("@pypi//:requirements.bzl", "requirement")
load("@rules_python//python:defs.bzl", "py_binary", "py_library", "py_test")

_RUN = Label("//compiler/tests:run_tests.py")

# All files of the folder that no other part has.
_REST = "*.py"

def tool_room(*, name, libraries = {}, programs = {}, tests = {}, test_deps = "", **kwargs):
    """Defines the libraries, programs and tests of a folder.

    Each `*_test.py` is found. Those that nothing is said about need no more than the room, and run in one process as
    the test `tests`; the label of each of them is a suite of that one test. A test that the BUILD file defines before
    this, with `tool_test` or otherwise, is left as it is.

    Args:
      name: name of the room, for readers alone.
      libraries: dict from a library to its words. `*.py` is all files that no other part has.
      programs: dict from a program to its words. Without a `<program>.py`, its main file is the first one named.
      tests: dict from a test of its own to its words: it must not have what others of the room need.
      test_deps: words for the tests that are found, besides the room.
      **kwargs: attributes of all libraries and programs.
    """
    parts = libraries | programs
    taken = ["*_test.py"] + [part + ".py" for part in parts]
    for words in parts.values():
        taken += [file for file in _files(words) if file != _REST]
    for part, words in parts.items():
        if _REST in _files(words):
            rest = native.glob([_REST], exclude = taken)
            parts[part] = " ".join(rest + [word for word in words.split(" ") if word != _REST])
    for part in libraries:
        tool_library(name = part, deps = parts[part], **kwargs)
    for part in programs:
        tool_program(name = part, deps = parts[part], **kwargs)

    found = [file.removesuffix(".py") for file in native.glob(["*_test.py"], allow_empty = True)]
    for test, words in tests.items():
        if test not in found:
            fail("{} is no test of this folder".format(test))
        tool_test(name = test, size = "small", deps = words)
    plain = [test for test in found if not native.existing_rule(test)]
    needs = " ".join([":" + part for part in parts] + [test_deps])
    if len(plain) == 1:
        tool_test(name = plain[0], size = "small", deps = needs)
    elif plain:
        _tests_in_one(plain, needs)

def tool_library(*, name, deps, **kwargs):
    """Defines one library, if it has attributes that no other part of its room has.

    Args:
      name: name of the library.
      deps: its words.
      **kwargs: other attributes of py_library.
    """
    py_library(name = name, srcs = _sources(name, deps), deps = _labels(deps), **kwargs)

def tool_program(*, name, deps, **kwargs):
    """Defines one program, if it has attributes that no other part of its room has.

    Args:
      name: name of the program.
      deps: its words.
      **kwargs: other attributes of py_binary.
    """
    srcs = _sources(name, deps)
    py_binary(name = name, srcs = srcs, main = srcs[0], deps = _labels(deps), **kwargs)

def tool_test(*, name, deps, files = {}, data = [], env = {}, **kwargs):
    """Defines the test of `<name>.py`, if it needs more than the room.

    Args:
      name: name of the test.
      deps: its words.
      files: dict from a variable of the test's environment to the label of the files that it names.
      data: other files that the test reads.
      env: other variables.
      **kwargs: other attributes of py_test.
    """
    named = {label: None for label in files.values() if label not in data}
    py_test(
        name = name,
        srcs = _sources(name, deps),
        data = data + named.keys(),
        env = {variable: "$(rootpaths {})".format(label) for variable, label in files.items()} | env,
        deps = _labels(deps),
        **kwargs
    )

def _tests_in_one(tests, deps):
    """Defines one test of several files, as most of a short test's time is for starting it."""
    srcs = [test + ".py" for test in tests]
    py_test(
        name = "tests",
        srcs = srcs + [_RUN],
        args = ["$(rootpath {})".format(file) for file in srcs],
        main = _RUN,
        deps = _labels(deps),
    )
    for test in tests:
        native.test_suite(name = test, tests = [":tests"])

def _files(words):
    return [word for word in words.split(" ") if word.endswith(".py")]

def _sources(name, words):
    return native.glob([name + ".py"], allow_empty = True) + _files(words)

def _labels(words):
    return [_label(word) for word in words.split(" ") if word and not word.endswith(".py")]

def _label(word):
    if word.startswith("@"):
        return requirement(word[1:])
    return word if word.startswith((":", "//")) else Label("//tools/" + word)
