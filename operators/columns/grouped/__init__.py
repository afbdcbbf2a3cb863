"""Kernels of aggregates and of what is held by groups."""
