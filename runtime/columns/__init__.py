"""A plan over columns: histories go through it stretch by stretch, each a batch of Arrow-like columns; NumPy is needed."""
