"""Facts and answers as text."""
