"""What the agent said in a turn, each thing once: Codex writes it as an event and as an item."""

from dataclasses import dataclass, field
from itertools import chain

EVENT, ITEM = "event", "item"
_ALIKE = 8
"""Characters by which words begin alike that were changed on one of two lines."""


@dataclass(slots=True)
class Said:
    """Fills the list of a turn's texts.

    An event and an item are the same words if the words are equal, or if they stand on lines beside
    each other and are much alike: tags may be gone from one, and what redacts may call them
    differently. The item's are kept, for it is what the model wrote.
    """

    texts: list[str]
    _alone: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: {EVENT: [], ITEM: []})
    """Place in `texts` and line of what was found one way only, by way."""
    _beside: list[str] = field(default_factory=list)

    def hear(self, text: str, way: str, line: int) -> bool:
        """Take a text found one way; say whether it is new."""
        others = self._alone[ITEM if way is EVENT else EVENT]
        twin = self._twin(others, text, line)
        if twin is None:
            self._alone[way].append((len(self.texts), line))
            self.texts.append(text)
            return True
        place, _ = others.pop(twin)
        if way is ITEM:
            self.texts[place] = text
        return False

    def _twin(self, others: list[tuple[int, int]], text: str, line: int) -> int | None:
        same = (at for at, (place, _) in enumerate(others) if self.texts[place] == text)
        beside = (
            at
            for at, (place, on) in enumerate(others)
            if abs(line - on) <= 1 and _are_alike(self.texts[place], text)
        )
        return next(chain(same, beside), None)

    def add_beside(self, text: str) -> None:
        """Take a text that may be part of what the agent says besides."""
        self._beside.append(text)

    def finish(self) -> None:
        """Add what stands beside and was not said in any other text."""
        self.texts += [text for text in self._beside if not any(text in one for one in self.texts)]
        self._beside.clear()


def _are_alike(one: str, other: str) -> bool:
    one, other = one.strip(), other.strip()
    return one[:_ALIKE] == other[:_ALIKE] or one in other or other in one
