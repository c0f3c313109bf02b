"""How well an error of the graph matches the text of an error that a user pastes."""

from collections import Counter
from collections.abc import Collection, Iterable
from collections.abc import Set as AbstractSet

from turnetl.base.terms import Tokenizer
from turnetl.retrieval.error_question import (
    failed_tests,
    identifiers,
    is_passing,
    without_passing,
)

EXACT = 2.0
"""The score of an error whose name is the text."""
_MIN_SHARE = 0.6
"""Share of the query's terms that an error must have: a type alone is enough for `KeyError`."""
_MIN_NAME_SHARE = 0.8
_MIN_NAME_TERMS = 4
"""A log contains few words of many errors by chance, and most of a long name by no chance."""
_CUT = "…"


class ErrorMatcher:
    """Compares errors with one query."""

    def __init__(self, text: str, names: Iterable[str] = ()) -> None:
        """Prepare the comparison.

        Args:
            text: a message, a part of one, or a log that contains it. Its lines about what passed
                are not compared.
            names: of the errors that are compared: what few of them contain says more.
        """
        self._tokenizer = Tokenizer()
        text = without_passing(text)
        self._text = _normalized(text)
        self._terms = set(self._tokenizer.count(text))
        known = [set(self._tokenizer.count(name)) for name in names]
        tests = self._term_sets(failed_tests(text))
        self._tests = tests
        self._required = tests or self._rarest(self._term_sets(identifiers(text)), known)

    def score(self, name: str, statement: str) -> float:
        """Return how well an error matches: from 0 to 1, or `EXACT`; 0 if it does not.

        Args:
            name: of the error.
            statement: the fact that it occurred.
        """
        normalized = _normalized(name).rstrip(_CUT)
        if not self._terms or not normalized or is_passing(name):
            return 0.0
        if normalized == self._text:
            return EXACT
        name_terms = set(self._tokenizer.count(name))
        known = name_terms | set(self._tokenizer.count(statement))
        contained = self._contained(name, normalized, name_terms)
        return max(self._named(name_terms), self._shared(known), contained)

    def _named(self, name_terms: AbstractSet[str]) -> float:
        """Return 1 if the error is a test that the text says failed."""
        return 1.0 if any(test == name_terms for test in self._tests) else 0.0

    def _shared(self, known: AbstractSet[str]) -> float:
        """Return the share of the text that is in the error; 0 without the text's rarest name."""
        share = len(self._terms & known) / len(self._terms)
        has_name = not self._required or any(name <= known for name in self._required)
        return share if share >= _MIN_SHARE and has_name else 0.0

    def _contained(self, name: str, normalized: str, name_terms: AbstractSet[str]) -> float:
        """Return the share of the name that the text contains; 0 if it may do so by chance."""
        share = len(self._terms & name_terms) / max(len(name_terms), 1)
        if len(name_terms) > 1 and normalized in self._text:
            return 1.0
        is_much = share >= _MIN_NAME_SHARE and len(name_terms) >= _MIN_NAME_TERMS
        complete = identifiers(name)[: -1 if name.endswith(_CUT) else None]
        has_names = all(terms <= self._terms for terms in self._term_sets(complete))
        return share if is_much and has_names else 0.0

    def _term_sets(self, names: Iterable[str]) -> list[frozenset[str]]:
        counted = (frozenset(self._tokenizer.count(name)) for name in names)
        return [terms for terms in counted if terms]

    def _rarest(
        self, names: Collection[frozenset[str]], known: Collection[AbstractSet[str]]
    ) -> list[frozenset[str]]:
        """Return the names that the fewest errors have."""
        counts = Counter({name: sum(name <= terms for terms in known) for name in names})
        fewest = min(counts.values(), default=0)
        return [name for name, count in counts.items() if count == fewest]


def _normalized(text: str) -> str:
    return " ".join(text.casefold().split())
