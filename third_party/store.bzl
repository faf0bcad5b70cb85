"""What programs of repository rules import that put things into the store (tools/launcher/store.py)."""

STORE = [
    "//third_party/debian:errors.py",
    "//tools/launcher:cache.py",
    "//tools/launcher:errors.py",
    "//tools/launcher:store.py",
]
