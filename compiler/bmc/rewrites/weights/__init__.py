"""Rewrites that decide what constants are stored as, and by which name."""
