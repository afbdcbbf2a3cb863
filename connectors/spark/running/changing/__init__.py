"""A stream goes on with another program: its checkpoint, and the states in it."""
