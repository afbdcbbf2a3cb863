"""Stages of a program on a cluster, in columns: over history, and over a stream that goes on from batch to batch."""
