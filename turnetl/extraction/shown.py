"""What a model is shown of turns: a part to read, and what was said before it."""

from collections.abc import Iterator, Sequence

from graphiti_core.nodes import EpisodicNode

from turnetl.graph.mirror import convert
from turnetl.model import Episode

_ASKED = 2000
"""Characters of the beginning of what is too long to be shown whole: what the person asked."""
_ENDED = 4000
"""Characters of its end: what is gone on from."""
_LEFT_OUT = "\n\n[...]\n\n"


def told(episode: Episode) -> Iterator[EpisodicNode]:
    """Yield the parts of a turn, in order."""
    for number, part in enumerate(episode.parts):
        yield convert.episodic(episode, part, number)


def before(episode: Episode, part: int, context: Sequence[Episode]) -> list[EpisodicNode]:
    """Return what is shown before a part: earlier turns, and of its own turn what comes before it.

    A turn of one part is shown whole, as Graphiti shows it; of what is longer its beginning and
    its end, so that the cost of a long turn grows with its length and no faster.

    Args:
        episode: the turn.
        part: which of its parts, from 0.
        context: the turns before, oldest first.
    """
    turns = [convert.episodic(turn, _whole_or_ends(turn.parts)) for turn in context]
    own = [convert.episodic(episode, ends(episode.parts[:part]))] if part else []
    return turns + own


def ends(parts: Sequence[str]) -> str:
    """Return the beginning of the first and the end of the last part; all of it if that is less."""
    if len(parts) == 1 and len(parts[0]) <= _ASKED + _ENDED:
        return parts[0]
    return f"{_beginning(parts[0])}{_LEFT_OUT}{_end(parts[-1])}"


def _whole_or_ends(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else ends(parts)


def _beginning(text: str) -> str:
    space = max(text.rfind(" ", 0, _ASKED), text.rfind("\n", 0, _ASKED))
    return text if len(text) <= _ASKED else text[: space if space > _ASKED // 2 else _ASKED]


def _end(text: str) -> str:
    first = len(text) - _ENDED
    if first <= 0:
        return text
    space = text.find(" ", first, first + _ENDED // 2)
    return text[space + 1 if space >= 0 else first :]
