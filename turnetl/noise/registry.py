"""Which rules there are, and which of them a run uses."""

from collections.abc import Sequence

from turnetl.errors import BadUsage
from turnetl.noise.rule import NoiseRule
from turnetl.noise.rules import EMPTY, ON_DEMAND, RULES


def all_rules(own: Sequence[NoiseRule] = ()) -> tuple[NoiseRule, ...]:
    """Return all rules, on and off, in the order in which they name a turn: built-in ones first.

    Args:
        own: a person's own rules, with names that no built-in rule has.
    """
    return (*RULES, *ON_DEMAND, *own, EMPTY)


def find_rule(name: str, own: Sequence[NoiseRule] = ()) -> NoiseRule:
    """Return the rule of that name.

    Raises:
        BadUsage: there is none; says which there are.
    """
    rules = {rule.name: rule for rule in all_rules(own)}
    if name not in rules:
        raise BadUsage(f"there is no noise rule `{name}`; there are: {', '.join(rules)}")
    return rules[name]


def select_rules(
    keep: Sequence[str] = (), drop: Sequence[str] = (), own: Sequence[NoiseRule] = ()
) -> tuple[NoiseRule, ...]:
    """Return the rules that mark, in the order in which they name a turn; `EMPTY` goes unsaid.

    Args:
        keep: names of rules that shall not mark: their turns are kept.
        drop: names of rules that shall, though they do not by themselves.
        own: a person's own rules, with names that no built-in rule has.

    Raises:
        BadUsage: a name that no rule has, one that stands in both, or a rule that must mark.
    """
    for name in (*keep, *drop):
        find_rule(name, own)
    both = [name for name in keep if name in drop]
    if both:
        raise BadUsage(f"the noise rule `{both[0]}` cannot be both kept and dropped; say one")
    if EMPTY.name in keep:
        raise BadUsage(f"the noise rule `{EMPTY.name}` is always on: nothing would be ingested")
    on = [rule for rule in all_rules(own) if rule.on_by_default or rule.name in drop]
    return tuple(rule for rule in on if rule.name not in keep and rule is not EMPTY)
