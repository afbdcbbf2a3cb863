"""What goes on holding until further notice, where it is announced."""
