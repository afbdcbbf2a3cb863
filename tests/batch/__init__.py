"""Batch reasoning: loading whole files, materialisation in rounds, and what it decides."""
