"""Passes about times: windows and time variables become metric operators."""
