"""Matches of rules in one text. A rule is tried only near its required literals."""

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable

from turnetl.redact.literal_search import LiteralSearch
from turnetl.redact.rule import SecretRule


class RuleMatcher:
    """Finds the matches of rules in one text, which is searched once for the literals of all."""

    def __init__(self, data: bytes, rules: Iterable[SecretRule], search: LiteralSearch) -> None:
        """Search the text.

        Args:
            data: the text.
            rules: some of the rules of the search.
            search: the search for the literals of all rules.
        """
        self._data = data
        self._offsets: dict[str, array[int]] = {}
        self._max_offsets: dict[str, int] = {}
        rules = [*rules]
        patterns = {rule.pattern for rule in rules}
        lower = data.lower()
        for offset in search.offsets(lower) if rules else ():
            for rule, max_offset in search.at(lower, offset):
                offsets = self._offsets.get(rule.pattern)
                if offsets is not None:
                    offsets.append(offset)
                elif rule.pattern in patterns:
                    self._offsets[rule.pattern] = array("Q", (offset,))
                    self._max_offsets[rule.pattern] = max_offset
        possible = {rule.pattern for rule in search.rules_without_literals} | self._offsets.keys()
        self.rules = [rule for rule in rules if rule.pattern in possible]
        """The rules that may match."""

    def first(self, rule: SecretRule, start: int) -> re.Match[bytes] | None:
        """Return the first match that starts at `start` or after it."""
        offsets = self._offsets.get(rule.pattern)
        if offsets is None:
            return rule.compiled.search(self._data, start)
        max_offset = self._max_offsets[rule.pattern]
        for index in range(bisect_left(offsets, start), len(offsets)):
            offset = offsets[index]
            for match_start in range(max(start, offset - max_offset), offset + 1):
                match = rule.compiled.match(self._data, match_start)
                if match is not None:
                    return match
        return None
