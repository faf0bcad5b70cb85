"""Rewrites that keep what a model means, where IREE would compute something else, crash or refuse it.

The host runtime, which checks an import, needs them as well as any target.
"""
