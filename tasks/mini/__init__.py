"""Small data sets of our own making in the form of the three benchmarks."""

from lmms_eval_food.tasks.mini.write import write_mini

__all__ = ["write_mini"]
