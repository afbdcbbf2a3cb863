"""What tidelog costs, as ratios measured within one run: `python -m benchmarks` from the repository's root.

Each module measures one promise and is a script of its own (`python -m benchmarks.runtime.latency`). Facts are drawn from a
seed; a figure is a median over repeats; what a ratio compares is measured by turns, so that a busy machine slows down both.
No test depends on a figure.
"""
