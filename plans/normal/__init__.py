"""The normalising passes, one a file: from nested formulas to one operator a rule."""
