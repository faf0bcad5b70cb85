"""Rewrites that make products of bytes, or of f16, of a quantized model, and keep what is between them narrow."""
