"""The version of tidelog: read by the command line, and when the package is built."""

VERSION = "0.1.0"
