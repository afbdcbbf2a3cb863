"""Facts as CSV."""
