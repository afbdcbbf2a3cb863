"""Batch reasoning: all facts are there at once, and what follows is derived round by round."""
