"""Mark whole turns as noise, by named and versioned rules."""

from turnetl.noise.rules import (
    EMPTY,
    HAS_SUBAGENTS,
    ON_DEMAND,
    RULES,
    ListedRule,
    NoiseRule,
    RulesReport,
    mark,
    recipes,
    required_columns,
)
from turnetl.noise.user_rules import all_rules, find_rule, read_rules, select_rules
