"""What programs mean: examples of papers, laws that hold for each program, single forms of rules worked out by hand."""
