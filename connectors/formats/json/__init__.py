"""Facts and answers as JSON lines."""
