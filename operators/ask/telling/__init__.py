"""Which hypothetical answers are told, and how."""
