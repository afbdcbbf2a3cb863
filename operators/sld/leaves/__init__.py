"""What derivations end with, and which of that is minimal."""
