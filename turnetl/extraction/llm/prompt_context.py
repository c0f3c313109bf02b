"""The text of turns in extraction prompts: the chunk to extract and the context before it."""

from collections.abc import Iterator, Sequence

from graphiti_core.nodes import EpisodicNode

from turnetl.base.model import Episode
from turnetl.graph.mirror import convert

_LONG = 2000, 4000
"""Characters of the head, which has the prompt of the turn, and of the tail, which the next chunk
continues, of a text that is too long to show in full."""
_SHORT = 500, 1000
"""The same for earlier turns, which only explain what "it" and "that file" refer to: both prompts
of an extraction contain them, and in full they were most of the cost of a turn."""
_OMISSION = "\n\n[...]\n\n"


def chunk_nodes(episode: Episode) -> Iterator[EpisodicNode]:
    """Yield the chunks of a turn, in order."""
    for number, chunk in enumerate(episode.chunks):
        yield convert.to_episodic_node(episode, chunk, number)


def previous(
    episode: Episode, chunk: int, context: Sequence[Episode], *, full: bool
) -> list[EpisodicNode]:
    """Return the context of a chunk: earlier turns, and the earlier chunks of its own turn.

    Long texts are reduced to head and tail, so that the cost of a long turn grows linearly with its
    length.

    Args:
        episode: the turn.
        chunk: the number of the chunk, from 0.
        context: the earlier turns, oldest first.
        full: show earlier turns of one chunk in full, as Graphiti does.
    """
    turns = [
        convert.to_episodic_node(turn, _earlier_turn(turn.chunks, full=full)) for turn in context
    ]
    earlier = episode.chunks[:chunk]
    return turns + ([convert.to_episodic_node(episode, head_and_tail(earlier))] if chunk else [])


def head_and_tail(chunks: Sequence[str], head: int = _LONG[0], tail: int = _LONG[1]) -> str:
    """Return the head of the first and the tail of the last chunk; one short chunk in full."""
    if len(chunks) == 1 and len(chunks[0]) <= head + tail:
        return chunks[0]
    return f"{_head(chunks[0], head)}{_OMISSION}{_tail(chunks[-1], tail)}"


def abridged(node: EpisodicNode) -> EpisodicNode:
    """Return the node with its content reduced to a short head and tail."""
    return node.model_copy(update={"content": head_and_tail([node.content], *_SHORT)})


def _earlier_turn(chunks: Sequence[str], *, full: bool) -> str:
    if not full:
        return head_and_tail(chunks, *_SHORT)
    return chunks[0] if len(chunks) == 1 else head_and_tail(chunks)


def _head(text: str, limit: int) -> str:
    space = max(text.rfind(" ", 0, limit), text.rfind("\n", 0, limit))
    return text if len(text) <= limit else text[: space if space > limit // 2 else limit]


def _tail(text: str, limit: int) -> str:
    start = len(text) - limit
    if start <= 0:
        return text
    space = text.find(" ", start, start + limit // 2)
    return text[space + 1 if space >= 0 else start :]
