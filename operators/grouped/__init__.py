"""Operators over groups of rows: aggregates, thresholds, held values."""
