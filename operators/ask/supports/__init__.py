"""Supports of answers: which of them are minimal."""
