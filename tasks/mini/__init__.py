"""Small data sets of our own making in the form of the three benchmarks."""
