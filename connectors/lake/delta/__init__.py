"""Tables of Delta Lake, by the library `deltalake`: their files, their log, and what is done to both."""
