"""Evaluates IREE's host program at build time."""
