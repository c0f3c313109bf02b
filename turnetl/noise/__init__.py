"""Noise between turns: named, versioned rules, and the marking of turns by them."""

from turnetl.noise.marking import mark, versions
from turnetl.noise.rules import RULES, Rule

__all__ = ["RULES", "Rule", "mark", "versions"]
