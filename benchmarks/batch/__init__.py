"""What batch reasoning costs, with plots like those of its paper: `python -m benchmarks --batch`, `make bench BATCH=1`.

The data follow section 6 of Wang, Wałęga, Hu and Cuenca Grau, "Practical reasoning in DatalogMTL" (Figures 2 and 3): a
university with intervals (temporal LUBM), weather over a grid of stations, and random programs. They are drawn anew from a
seed, and the programs are our own, with the operators and shapes that the paper tells of; the figures are tidelog's alone.
Each benchmark leaves a CSV and, where matplotlib is installed, an SVG in `benchmarks/results`.

What is measured is the CPU time of the rounds, by round and strategy; facts are made and loaded beforehand. Garbage is
collected as seldom as in `tidelog materialise`. Memory is the peak of what Python allocated (tracemalloc, in a pass of its
own), from the first fact to the last round, over what is stored in the end.
"""
