"""Reports: what `tidelog check -v` tells of a plan."""
