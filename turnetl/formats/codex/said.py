"""What the agent said in a turn, each thing once: Codex writes it as an event and as an item."""

from dataclasses import dataclass, field

EVENT, ITEM = "event", "item"


@dataclass(slots=True)
class Said:
    """Fills the list of a turn's texts.

    An event and an item are the same words if they stand on lines beside each other, or if the
    words are equal; the item's are kept, for it is what the model wrote.
    """

    texts: list[str]
    _alone: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: {EVENT: [], ITEM: []})
    """Place in `texts` and line of what was found one way only, by way."""
    _beside: list[str] = field(default_factory=list)

    def hear(self, text: str, way: str, line: int) -> bool:
        """Take a text found one way; say whether it is new."""
        others = self._alone[ITEM if way is EVENT else EVENT]
        twin = next((at for at, (_, on) in enumerate(others) if abs(line - on) <= 1), None)
        if twin is None:
            same = (at for at, (place, _) in enumerate(others) if self.texts[place] == text)
            twin = next(same, None)
        if twin is None:
            self._alone[way].append((len(self.texts), line))
            self.texts.append(text)
            return True
        place, _ = others.pop(twin)
        if way is ITEM:
            self.texts[place] = text
        return False

    def add_beside(self, text: str) -> None:
        """Take a text that may be part of what the agent says besides."""
        self._beside.append(text)

    def finish(self) -> None:
        """Add what stands beside and was not said in any other text."""
        self.texts += [text for text in self._beside if not any(text in one for one in self.texts)]
        self._beside.clear()
