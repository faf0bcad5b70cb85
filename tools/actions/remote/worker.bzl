"""The programs that //tools/actions/remote:worker is made of: for its `data`, and its options that name them."""

_PROGRAMS = {
    "bwrap": Label("//third_party/tools:bwrap"),
    "casd": Label("//third_party/tools:buildbox_casd"),
    "fuse": Label("//third_party/tools:buildbox_fuse"),
    "run": Label("//third_party/tools:buildbox_run"),
}

WORKER_DATA = _PROGRAMS.values()

WORKER_ARGS = ["--%s=$(rootpath %s)" % item for item in _PROGRAMS.items()]
