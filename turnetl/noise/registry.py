"""The noise rules that exist, and the selection of those that are active in a run."""

from collections.abc import Sequence

from turnetl.base.errors import BadUsage
from turnetl.noise.rule import NoiseRule
from turnetl.noise.rules import EMPTY, ON_DEMAND, RULES


def all_rules(user_rules: Sequence[NoiseRule] = ()) -> tuple[NoiseRule, ...]:
    """Return all rules, active or not, by precedence: built-in rules come first.

    Args:
        user_rules: the user's own rules; none has the name of a built-in rule.
    """
    return (*RULES, *ON_DEMAND, *user_rules, EMPTY)


def find_rule(name: str, user_rules: Sequence[NoiseRule] = ()) -> NoiseRule:
    """Return the rule of that name.

    Raises:
        BadUsage: no rule has this name; the message lists the names.
    """
    rules = {rule.name: rule for rule in all_rules(user_rules)}
    if name not in rules:
        raise BadUsage(f"unknown noise rule `{name}`; choose one of: {', '.join(rules)}")
    return rules[name]


def select_rules(
    disable: Sequence[str] = (), enable: Sequence[str] = (), user_rules: Sequence[NoiseRule] = ()
) -> tuple[NoiseRule, ...]:
    """Return the active rules by precedence, without `EMPTY`, which is always active.

    Args:
        disable: names of rules to disable: the turns that they would mark are kept.
        enable: names of rules to enable that are disabled by default.
        user_rules: the user's own rules; none has the name of a built-in rule.

    Raises:
        BadUsage: a name is unknown or is in both lists, or the rule cannot be disabled.
    """
    for name in (*disable, *enable):
        find_rule(name, user_rules)
    in_both = [name for name in disable if name in enable]
    if in_both:
        raise BadUsage(
            f"noise rule `{in_both[0]}` cannot be both disabled and enabled; name it once"
        )
    if EMPTY.name in disable:
        raise BadUsage(
            f"noise rule `{EMPTY.name}` cannot be disabled: its turns have no text to ingest;"
            " remove it from the rules to disable"
        )
    active = [
        rule for rule in all_rules(user_rules) if rule.enabled_by_default or rule.name in enable
    ]
    return tuple(rule for rule in active if rule.name not in disable and rule is not EMPTY)
