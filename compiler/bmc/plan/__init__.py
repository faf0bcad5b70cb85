"""The plan: places for everything the host program uses, as constant tables."""
