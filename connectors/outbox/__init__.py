"""The outbox: numbered answers in a directory, kept until they are acknowledged."""
