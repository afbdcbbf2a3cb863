"""A durable run: commits, restart, and replay."""
