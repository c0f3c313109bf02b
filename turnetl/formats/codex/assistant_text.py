"""The agent's texts of a turn, each once, although Codex writes most of them in several rows."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from turnetl.formats.codex.authorship import are_versions

_RECENT = 4
"""Texts among which the one on the line before is."""

TextSource = Literal["event", "completed", "item"]
"""The kind of the row that holds a text: an event, a completed item or a response item."""


@dataclass(slots=True)
class _Text:
    index: int
    """In the texts of the turn."""
    sources: set[TextSource]
    line: int
    """The last of its rows."""


@dataclass(slots=True)
class AgentTexts:
    """Fills the list of a turn's texts.

    Two rows of different kinds hold the same text if their texts are equal, or if they are on
    adjacent lines and versions of one. A text that the agent wrote twice is in two rows of each
    kind. The response item's text is kept, because it is what the model wrote.
    """

    texts: list[str]
    _by_text: defaultdict[str, list[_Text]] = field(default_factory=lambda: defaultdict(list))
    _recent: list[_Text] = field(default_factory=list)
    _supplements: list[str] = field(default_factory=list)

    def add(self, text: str, source: TextSource, line: int) -> bool:
        """Add a text from one source; return whether it is new."""
        known = next(self._known(text, source, line), None)
        if known is None:
            known = _Text(len(self.texts), {source}, line)
            self.texts.append(text)
            self._by_text[text].append(known)
            self._recent = [*self._recent[1 - _RECENT :], known]
            return True
        known.sources.add(source)
        known.line = line
        if source == "item" and self.texts[known.index] != text:
            self.texts[known.index] = text
            self._by_text[text].append(known)
        return False

    def _known(self, text: str, source: TextSource, line: int) -> Iterator[_Text]:
        """Yield the texts that a row may repeat, the most likely one first."""
        equal: Iterable[_Text] = self._by_text.get(text, ())
        yield from (one for one in equal if source not in one.sources)
        if source == "completed":
            # Migration writes a completed item twice, under two ids.
            yield from (one for one in equal if line - one.line == 1)
        for one in self._recent:
            is_adjacent = abs(line - one.line) <= 1 and source not in one.sources
            if is_adjacent and are_versions(self.texts[one.index], text):
                yield one

    def add_supplement(self, text: str) -> None:
        """Add a text that another text of the turn may contain."""
        self._supplements.append(text)

    def finish(self) -> None:
        """Add the supplements that no text of the turn contains."""
        texts = tuple(self.texts)
        self.texts += [
            supplement
            for supplement in dict.fromkeys(self._supplements)
            if not any(supplement in text for text in texts)
        ]
        self._supplements.clear()
