"""Messages that a broker retains while something holds, and that are taken away when it has ended."""
