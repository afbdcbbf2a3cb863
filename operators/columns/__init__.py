"""Kernels over columns: each operator's second form, which takes a stretch of history at once; NumPy is needed."""
