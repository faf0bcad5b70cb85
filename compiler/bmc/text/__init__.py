"""Tokenizers as constant tables for the target: they are read, compiled, and written as C (runtime_bm/text)."""
