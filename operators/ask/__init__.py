"""Hypothetical answers, kept up to date as facts come."""
