"""Rewrites that put kernels of bmc's own, or of libraries, in place of IREE's."""
