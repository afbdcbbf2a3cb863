"""Histories in columns: whole files through a plan, beside the plan row by row and beside DuckDB."""
