"""Reads, checks and describes the kernels' ELF."""
