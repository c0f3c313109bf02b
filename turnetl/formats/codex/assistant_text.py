"""The agent's texts of a turn, each once, although Codex writes them as an event and as an item."""

from dataclasses import dataclass, field
from itertools import chain
from typing import Literal

_PREFIX = 8
"""Characters that two versions of a text have in common at the start."""

TextSource = Literal["event", "item"]
"""The kind of the row that holds a text."""


@dataclass(slots=True)
class AgentTexts:
    """Fills the list of a turn's texts.

    An event and an item hold the same text if their texts are equal, or if they are on adjacent
    lines and similar: one may lack tags, and a redaction may differ. The item's text is kept,
    because it is what the model wrote.
    """

    texts: list[str]
    _unmatched: dict[TextSource, list[tuple[int, int]]] = field(
        default_factory=lambda: {"event": [], "item": []}
    )
    """Index in `texts` and line of each text that has only one source yet, by source."""
    _supplements: list[str] = field(default_factory=list)

    def add(self, text: str, source: TextSource, line: int) -> bool:
        """Add a text from one source; return whether it is new."""
        candidates = self._unmatched["item" if source == "event" else "event"]
        match = self._match(candidates, text, line)
        if match is None:
            self._unmatched[source].append((len(self.texts), line))
            self.texts.append(text)
            return True
        index, _ = candidates.pop(match)
        if source == "item":
            self.texts[index] = text
        return False

    def _match(self, candidates: list[tuple[int, int]], text: str, line: int) -> int | None:
        """Return the position of the candidate with the same text, or None."""
        equal = (
            position for position, (index, _) in enumerate(candidates) if self.texts[index] == text
        )
        adjacent = (
            position
            for position, (index, other_line) in enumerate(candidates)
            if abs(line - other_line) <= 1 and _are_similar(self.texts[index], text)
        )
        return next(chain(equal, adjacent), None)

    def add_supplement(self, text: str) -> None:
        """Add a text that another text of the turn may contain."""
        self._supplements.append(text)

    def finish(self) -> None:
        """Add the supplements that no text of the turn contains."""
        texts = tuple(self.texts)
        self.texts += [
            supplement
            for supplement in self._supplements
            if not any(supplement in text for text in texts)
        ]
        self._supplements.clear()


def _are_similar(first: str, second: str) -> bool:
    first, second = first.strip(), second.strip()
    return first[:_PREFIX] == second[:_PREFIX] or first in second or second in first
