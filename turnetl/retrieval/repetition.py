"""What repeats the texts beside it: a fact the title of its turn or another fact, a passage both.

Texts are compared by their words, without case, white space and punctuation at the ends of words;
of a truncated text, the words that are left.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from turnetl.base.model import Fact

_SPEAKER = re.compile(r"The (?:user|agent) [^:.`]{0,30}: ")
"""The beginning of a fact that quotes: two facts may quote one sentence."""
_LITTLE_MORE_CHARS = 20
_TRUNCATED = "…"
_PUNCTUATION = "`\"'“”*_.,:;!?()[]"


@dataclass(frozen=True, slots=True)
class ShownText:
    """A text as it is compared."""

    words: str
    """In lower case, a space before each and, if the text is complete, one after the last."""

    def contains(self, other: "ShownText") -> bool:
        return bool(other.words.strip()) and other.words in self.words


def shown_text(text: str) -> ShownText:
    """Return a text without the words that say who wrote it."""
    said = text[match.end() :] if (match := _SPEAKER.match(text)) else text
    words = [word for part in said.casefold().split() if (word := part.strip(_PUNCTUATION))]
    if words and words[-1].endswith(_TRUNCATED):
        return ShownText(f" {' '.join(words)}".rstrip(f"{_TRUNCATED} {_PUNCTUATION}"))
    return ShownText(f" {' '.join(words)} ")


def repeats_title(fact: Fact, title: ShownText) -> bool:
    """Return whether a fact says little more than the title of its turn, or less."""
    said = shown_text(fact.text)
    if title.contains(said):
        return True
    if not said.words.startswith(title.words) or not title.words.strip():
        return False
    more, length = len(said.words) - len(title.words), len(title.words)
    return more < max(_LITTLE_MORE_CHARS, length // 2)


def repeats_any(text: str, shown: Iterable[str]) -> bool:
    """Return whether one of the texts that are shown beside a text has all its words."""
    said = shown_text(text)
    return any(shown_text(other).contains(said) for other in shown)


def distinct_facts(facts: Iterable[Fact], limit: int, selected: Collection[str] = ()) -> list[Fact]:
    """Return the first facts that do not repeat one another; of two, the one that says more.

    The selected facts are never left out for another one.
    """
    kept: list[tuple[Fact, ShownText]] = []
    for fact in facts:
        if len(kept) == limit:
            break
        said = shown_text(fact.text)
        if fact.uuid in selected:
            kept.append((fact, said))
        elif not any(other.contains(said) for _, other in kept):
            _keep(kept, fact, said, selected)
    return [fact for fact, _ in kept]


def _keep(
    kept: list[tuple[Fact, ShownText]], fact: Fact, said: ShownText, selected: Collection[str]
) -> None:
    """Add a fact, in the place of the first one that it contains."""
    contained = [
        position
        for position, (other, text) in enumerate(kept)
        if other.uuid not in selected and said.contains(text)
    ]
    place = contained[0] if contained else len(kept)
    for position in reversed(contained):
        del kept[position]
    kept.insert(place, (fact, said))
