"""Requests: who may make them, and what their bodies say."""
