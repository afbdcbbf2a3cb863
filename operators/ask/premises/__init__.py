"""The premises of preconditions, and the partial answers that rest on them."""
