"""Recursion: where a loop closes."""
