"""Islands: how plans are cut, and that the parts tell what the whole tells."""
