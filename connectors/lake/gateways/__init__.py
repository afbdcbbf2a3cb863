"""The gateways whose outboxes become tables: who they are, whether they answer, and what is taken from each."""
