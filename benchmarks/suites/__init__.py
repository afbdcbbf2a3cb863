"""Public benchmark suites of others, fetched and never copied: `python -m benchmarks.suites fetch NAME`, then `run NAME`.

`timescales`: monitoring of past-time MTL, with bounds of 10 to 1,000 (Ulus 2019). `magic-sets` and `dredmtl`: the data sets
of two papers on DatalogMTL (arXiv 2412.07259 and 2511.12169), which come from LUBM, iTemporal and weather stations. Each is
read from an archive of one commit, into programs and facts of tidelog. What is measured is facts a second and memory; where
a suite says what is right, it is compared.
"""
