"""What `ask` asks: the rules behind a question, and whether their unfolding ends."""
