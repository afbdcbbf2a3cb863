"""The commands that explain: `why` and `verify`."""
