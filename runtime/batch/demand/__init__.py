"""Demand: which rows a question can rest on, found backwards from its constants (magic sets)."""
