"""From a normal form to a plan."""
