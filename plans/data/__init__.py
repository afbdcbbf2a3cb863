"""Facts, records and their times: what programs compute with."""
