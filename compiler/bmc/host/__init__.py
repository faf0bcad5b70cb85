"""IREE's host program, evaluated at build time."""
