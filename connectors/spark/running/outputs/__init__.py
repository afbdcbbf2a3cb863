"""Where a program on Spark writes."""
