"""Noise between turns: named, versioned rules, and the marking of turns by them."""

from turnetl.noise.choice import chosen, known, named
from turnetl.noise.marking import columns, mark, versions
from turnetl.noise.own import read
from turnetl.noise.rule import Rule
from turnetl.noise.rules import EMPTY, ON_DEMAND, RULES

__all__ = [
    "EMPTY",
    "ON_DEMAND",
    "RULES",
    "Rule",
    "chosen",
    "columns",
    "known",
    "mark",
    "named",
    "read",
    "versions",
]
