"""A program on Spark: its stages, each split by keys, over history and over streams."""
