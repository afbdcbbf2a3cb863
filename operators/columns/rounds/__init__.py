"""What rounds over a whole timeline need: rows by their numbers, and steps that follow what is new of them."""
