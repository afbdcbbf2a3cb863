"""Islands: parts of a plan that run beside each other, each in one task or, by a key, in many."""
