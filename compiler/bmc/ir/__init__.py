"""Helpers over iree.compiler.ir that read, change and recognize operations."""
