"""Which rules a run uses."""

from collections.abc import Sequence

from turnetl.errors import BadUsage
from turnetl.noise.rule import Rule
from turnetl.noise.rules import ON_DEMAND, RULES


def chosen(
    keep: Sequence[str] = (), drop: Sequence[str] = (), own: Sequence[Rule] = ()
) -> tuple[Rule, ...]:
    """Return the rules that mark, in the order in which they name a turn: built-in ones first.

    Args:
        keep: names of rules that shall not mark: their turns are kept.
        drop: names of rules that shall, though they do not by themselves.
        own: a person's own rules, with names that no built-in rule has.

    Raises:
        BadUsage: a name that no rule has, or one that stands in both.
    """
    known = (*RULES, *ON_DEMAND, *own)
    _check(keep, drop, [rule.name for rule in known])
    return tuple(rule for rule in known if rule.name not in keep and (rule.on or rule.name in drop))


def _check(keep: Sequence[str], drop: Sequence[str], known: Sequence[str]) -> None:
    unknown = [name for name in (*keep, *drop) if name not in known]
    if unknown:
        raise BadUsage(f"there is no noise rule `{unknown[0]}`; there are {', '.join(known)}")
    both = [name for name in keep if name in drop]
    if both:
        raise BadUsage(f"the noise rule `{both[0]}` cannot be both kept and dropped; say one")
