"""Noise between turns: named, versioned rules, and the marking of turns by them."""

from turnetl.noise.marking import columns, mark, versions
from turnetl.noise.registry import chosen, known, named
from turnetl.noise.rule import NoiseRule
from turnetl.noise.rules import EMPTY, ON_DEMAND, RULES
from turnetl.noise.user_rules import read

__all__ = [
    "EMPTY",
    "ON_DEMAND",
    "RULES",
    "NoiseRule",
    "chosen",
    "columns",
    "known",
    "mark",
    "named",
    "read",
    "versions",
]
