"""Arrow tables in and out: rows become facts, and answers become one table a predicate.

Whatever has the Arrow PyCapsule interface (`__arrow_c_stream__`) is taken: tables of pyarrow, pandas, Polars, DuckDB. Only
`pyarrow` is needed, from the extra `frames`, and it is loaded when a frame is first used.
"""
