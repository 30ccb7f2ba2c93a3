"""The canteen paper's tables, from sample logs alone."""

from lmms_eval_food.results.canteen.rescore import open_matcher, rescore, rescored
from lmms_eval_food.results.canteen.sections import canteen_tables

__all__ = ["canteen_tables", "open_matcher", "rescore", "rescored"]
