"""The normalising passes: golden normal forms, invariants, and equality of meaning with the original."""
