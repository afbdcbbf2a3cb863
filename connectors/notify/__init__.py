"""Tells people: by Prometheus Alertmanager, by mail, and by services of messages."""
