"""Passes that split rules until each needs one operator."""
