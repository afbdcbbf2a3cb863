"""Whole files for batch commands, and folders of them."""
