"""Passes that name what has no name: constraints and wildcards."""
