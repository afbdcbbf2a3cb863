"""Corrections: accepted facts are retracted, and what was told is put right."""
