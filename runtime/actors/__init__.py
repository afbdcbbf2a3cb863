"""Actors: connectors under supervision, channels, and the clock."""
