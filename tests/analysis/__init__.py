"""The analyses of a plan, on examples worked out by hand and against what the operators do."""
