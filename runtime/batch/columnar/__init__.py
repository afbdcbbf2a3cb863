"""Rounds of batch reasoning over numbered rows, in columns."""
