"""Rewrites that serve IREE: its evaluation of constant expressions, and its code generator."""
