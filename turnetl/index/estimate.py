"""How much an embedder will be sent by a catch-up, estimated from the first turns of each group."""

from collections.abc import Sequence
from dataclasses import dataclass

from turnetl.index.passages import split_passages
from turnetl.index.port import FollowedGraph, IndexedGroup
from turnetl.llm.meter import estimate_tokens

_SAMPLE = 20
"""Turns of a group that are read for the estimate."""


@dataclass(frozen=True, slots=True)
class EmbeddingEstimate:
    """What is to be embedded."""

    turns: int
    tokens: int
    """Of their passages, rather too many than too few."""


async def estimate_embedding(
    graph: FollowedGraph, groups: Sequence[IndexedGroup]
) -> EmbeddingEstimate:
    """Return what a catch-up has to embed.

    Args:
        graph: that the index follows.
        groups: what the index holds.
    """
    known = {group.group_id: group.sequence for group in groups}
    turns, tokens = 0, 0.0
    for group, version in sorted((await graph.versions()).items()):
        after = known.get(group, 0)
        sample = await graph.commits(group, after, _SAMPLE) if version.sequence > after else ()
        if sample:
            pending = min(version.sequence - after, version.turns)
            turns += pending
            tokens += pending * sum(_tokens(commit.text) for commit in sample) / len(sample)
    return EmbeddingEstimate(turns, round(tokens))


def _tokens(text: str) -> int:
    return estimate_tokens(*(passage.text for passage in split_passages(text)))
