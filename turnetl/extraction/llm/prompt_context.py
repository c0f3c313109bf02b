"""What a model is shown of turns: a part to read, and what was said before it."""

from collections.abc import Iterator, Sequence

from graphiti_core.nodes import EpisodicNode

from turnetl.graph.mirror import convert
from turnetl.model import Episode

_WHOLE = 2000, 4000
"""Characters of what is too long to be shown whole: of its beginning, which is what the person
asked, and of its end, which is gone on from."""
_SHORT = 500, 1000
"""The same of earlier turns that are shown for what "it" and "that file" mean, and no more: three
prompts have them, and they were most of what a turn costs."""
_LEFT_OUT = "\n\n[...]\n\n"


def told(episode: Episode) -> Iterator[EpisodicNode]:
    """Yield the parts of a turn, in order."""
    for number, part in enumerate(episode.parts):
        yield convert.to_episodic_node(episode, part, number)


def before(
    episode: Episode, part: int, context: Sequence[Episode], *, whole: bool
) -> list[EpisodicNode]:
    """Return what is shown before a part: earlier turns, and of its own turn what comes before it.

    Of what is long its beginning and its end are shown, so that the cost of a long turn grows with
    its length and no faster.

    Args:
        episode: the turn.
        part: which of its parts, from 0.
        context: the turns before, oldest first.
        whole: show earlier turns of one part whole, as Graphiti does.
    """
    turns = [convert.to_episodic_node(turn, _earlier(turn.parts, whole=whole)) for turn in context]
    own = [convert.to_episodic_node(episode, ends(episode.parts[:part]))] if part else []
    return turns + own


def ends(parts: Sequence[str], asked: int = _WHOLE[0], ended: int = _WHOLE[1]) -> str:
    """Return the beginning of the first and the end of the last part; all of it if that is less."""
    if len(parts) == 1 and len(parts[0]) <= asked + ended:
        return parts[0]
    return f"{_beginning(parts[0], asked)}{_LEFT_OUT}{_end(parts[-1], ended)}"


def briefly(node: EpisodicNode) -> EpisodicNode:
    """Return a turn by its beginning and its end."""
    return node.model_copy(update={"content": ends([node.content], *_SHORT)})


def _earlier(parts: Sequence[str], *, whole: bool) -> str:
    if not whole:
        return ends(parts, *_SHORT)
    return parts[0] if len(parts) == 1 else ends(parts)


def _beginning(text: str, most: int) -> str:
    space = max(text.rfind(" ", 0, most), text.rfind("\n", 0, most))
    return text if len(text) <= most else text[: space if space > most // 2 else most]


def _end(text: str, most: int) -> str:
    first = len(text) - most
    if first <= 0:
        return text
    space = text.find(" ", first, first + most // 2)
    return text[space + 1 if space >= 0 else first :]
