"""Helpers over iree.compiler.ir: reading, changing and recognizing operations."""
