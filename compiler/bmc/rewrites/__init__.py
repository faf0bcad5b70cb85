"""Rewrites of the IR between the phases of IREE's compiler. pipeline.py gives their order and the reasons."""
