"""SLD-resolution with future premises: what a query depends on, computed before any fact has come."""
