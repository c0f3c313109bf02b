"""Mark whole turns as noise, by named and versioned rules."""

from turnetl.noise.marking import mark, recipes, required_columns
from turnetl.noise.registry import all_rules, find_rule, select_rules
from turnetl.noise.rule import ListedRule, NoiseRule, RulesReport
from turnetl.noise.rules import EMPTY, ON_DEMAND, RULES
from turnetl.noise.user_rules import read_rules

__all__ = [
    "EMPTY",
    "ON_DEMAND",
    "RULES",
    "ListedRule",
    "NoiseRule",
    "RulesReport",
    "all_rules",
    "find_rule",
    "mark",
    "read_rules",
    "recipes",
    "required_columns",
    "select_rules",
]
