"""The required literals of turnetl's own rules, derived when a rule changes.

To derive them takes each process as long as to parse 8 MB. The file has a line for each pattern:
its digest, the bytes before the literal, and the literals as JSON; none for a pattern without any.

    python -m turnetl.redact.known_literals > turnetl/redact/known_literals.tsv
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files

import msgspec

from turnetl.base import ids
from turnetl.redact.required_literals import RequiredLiterals, required_literals
from turnetl.redact.rule import SecretRule

_FILE = "known_literals.tsv"


def literals_of(rule: SecretRule) -> RequiredLiterals | None:
    """Return the required literals of a rule, which are derived unless they are known."""
    known = _known().get(_key(rule))
    if known is None:
        return required_literals(rule.pattern.encode())
    offset, literals = known.split("\t")
    found = msgspec.json.decode(literals, type=frozenset[str])
    return RequiredLiterals(found, int(offset)) if found else None


def lines(rules: Sequence[SecretRule]) -> Iterator[str]:
    """Yield the lines of the file for these rules, in order."""
    for key, pattern in sorted({_key(rule): rule.pattern for rule in rules}.items()):
        found = required_literals(pattern.encode())
        literals = sorted(found.literals) if found is not None else []
        offset = found.max_offset if found is not None else 0
        yield f"{key}\t{offset}\t{msgspec.json.encode(literals).decode()}"


@cache
def _known() -> Mapping[str, str]:
    """Return the rest of each line by its digest."""
    text = files("turnetl.redact").joinpath(_FILE).read_text("utf-8")
    return dict(line.split("\t", 1) for line in text.splitlines())


def _key(rule: SecretRule) -> str:
    return ids.digest(rule.pattern)[:16]


if __name__ == "__main__":
    from turnetl.redact.pii import PII_RULES
    from turnetl.redact.rules import RULES

    sys.stdout.write("".join(f"{line}\n" for line in lines([*RULES, *PII_RULES])))
