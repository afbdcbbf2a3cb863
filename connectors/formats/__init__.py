"""Formats: from bytes to facts, and from answers to bytes."""
