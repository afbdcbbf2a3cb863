"""Proofs: found, checked for circles, and shown."""
