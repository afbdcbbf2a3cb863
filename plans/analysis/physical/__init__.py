"""How a plan is executed: what is announced, shared, indexed, and put to sleep."""
