"""Rewrites that decide in which order tensors, above all images, lie in memory, and how products read them."""
