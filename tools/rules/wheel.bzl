"""What the packages of the wheel need of the rules, beside defs.bzl."""

load("//tools/rules/private:bm_libcalls.bzl", _bm_libcalls = "bm_libcalls")
load("//tools/rules/private:transitions.bzl", _isa_transition = "isa_transition")

bm_libcalls = _bm_libcalls
isa_transition = _isa_transition
