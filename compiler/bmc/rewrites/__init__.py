"""Rewrites of the IR between the phases of IREE's compiler; pipeline.py has their order and why."""
