"""Passes that compute nothing twice, and nothing in vain."""
