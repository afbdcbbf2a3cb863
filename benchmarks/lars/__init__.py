"""The benchmarks of two papers on LARS, with plots like theirs: `python -m benchmarks --lars`, `make bench LARS=1`.

`laser`: section 4 of Bazoobandi, Beck and Urbani, "Expressive stream reasoning with Laser" (2017). `laser2`: the evaluation
of its successor Laser2, on impossible derivations (2021). Programs and streams are the papers' as far as they give them; the
figures are tidelog's alone. Each benchmark leaves a CSV and, where matplotlib is installed, an SVG in `benchmarks/results`.

What is measured is a session's CPU time: facts are made beforehand and pushed one time point at a time, and what follows is
pulled after each. Garbage is collected as seldom as in `tidelog run`. Memory is the peak of what Python allocated
(tracemalloc, in a pass of its own); entries are the ranges stored in all steps.
"""
