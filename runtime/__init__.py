"""When and where: sessions, the network of operators, frontiers, loops, the engine."""
