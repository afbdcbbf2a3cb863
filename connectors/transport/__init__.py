"""How bytes travel: addresses, connections, descriptors, credentials."""
