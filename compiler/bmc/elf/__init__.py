"""The kernels' ELF: read, checked, described."""
