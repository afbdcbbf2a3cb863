"""Stores: coverage, indexes by key and by time, and the limits of what they hold."""
