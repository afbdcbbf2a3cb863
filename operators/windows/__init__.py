"""Tuple windows, stepped windows, and times as values."""
