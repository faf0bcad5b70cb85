"""The version of Ironcast, as PEP 440 has it.

A plain literal, because the compiler reads this file too (release.py). MODULE.bazel repeats it, and a test compares.
"""

VERSION = "1.0.0.dev0"
