"""Leaps of time in which nothing happens but what comes again after a period: passed by without their rounds."""
