"""Goals: the literals that a derivation still has to resolve, and the rules for them."""
