"""Two programs beside each other: what is the same in both, and what one tells only where the other does."""
