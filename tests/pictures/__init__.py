"""Timelines and graphs as SVG."""
