"""What a program on Spark reads."""
