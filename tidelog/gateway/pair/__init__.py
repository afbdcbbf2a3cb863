"""Two gateways that stand by for each other: which of them leads, and how the other one follows."""
