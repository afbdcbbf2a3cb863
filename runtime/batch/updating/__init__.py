"""What changes when facts come and go: of each component, the rows that may change are derived again, and no others."""
