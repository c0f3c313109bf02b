"""How well an error of the graph matches the text of an error that a user pastes."""

from turnetl.index.terms import Tokenizer

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

    def __init__(self, text: str) -> None:
        """Prepare the comparison.

        Args:
            text: a message, a part of one, or a log that contains it.
        """
        self._tokenizer = Tokenizer()
        self._text = _normalized(text)
        self._terms = set(self._tokenizer.count(text))

    def score(self, name: str, statement: str) -> float:
        """Return how well an error matches: from 0 to 1, or `EXACT`; 0 if it does not.

        Args:
            name: of the error.
            statement: the fact that it occurred.
        """
        normalized = _normalized(name).rstrip(_CUT)
        if not self._terms or not normalized:
            return 0.0
        if normalized == self._text:
            return EXACT
        name_terms = set(self._tokenizer.count(name))
        known = name_terms | set(self._tokenizer.count(statement))
        share = len(self._terms & known) / len(self._terms)
        return max(share if share >= _MIN_SHARE else 0.0, self._contained(normalized, name_terms))

    def _contained(self, normalized: str, name_terms: set[str]) -> float:
        """Return the share of the name that the text contains; 0 if it may do so by chance."""
        share = len(self._terms & name_terms) / max(len(name_terms), 1)
        if len(name_terms) > 1 and normalized in self._text:
            return 1.0
        is_much = share >= _MIN_NAME_SHARE and len(name_terms) >= _MIN_NAME_TERMS
        return share if is_much else 0.0


def _normalized(text: str) -> str:
    return " ".join(text.casefold().split())
