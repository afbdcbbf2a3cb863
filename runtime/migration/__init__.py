"""A changed program goes on with the state of the one before."""
