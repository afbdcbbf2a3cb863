"""The commands of batch reasoning, and facts of whole files for them."""
