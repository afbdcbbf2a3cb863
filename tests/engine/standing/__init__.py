"""What goes on holding until further notice: answers against the oracle, and what it costs."""
