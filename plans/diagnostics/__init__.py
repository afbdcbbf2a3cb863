"""What goes wrong: the exceptions, the diagnostics that they carry, and how these are shown."""
