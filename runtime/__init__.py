"""When and where: sessions, actors, channels, frontiers, loops."""
