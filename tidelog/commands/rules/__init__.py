"""The commands for those who write rules: check, explain, format, test, draw."""
