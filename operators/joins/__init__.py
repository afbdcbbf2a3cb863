"""Joins of rows that hold together, and negation."""
