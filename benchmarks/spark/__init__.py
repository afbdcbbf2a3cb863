"""The turbine program on Spark, beside one process: what a row costs, and where the time goes."""
