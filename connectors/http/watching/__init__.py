"""What the page and the streams know of a program that runs."""
