"""Estimate of the passages of a catch-up, from the first turns of each group."""

from collections.abc import Sequence
from dataclasses import dataclass

from turnetl.episode_text.passages import split_passages
from turnetl.index.index_report import IndexedGroup, unread_commits
from turnetl.index.port import FollowedGraph
from turnetl.llm.meter import estimate_tokens

_SAMPLE = 20


@dataclass(frozen=True, slots=True)
class EmbeddingEstimate:
    """The texts that a catch-up has to embed."""

    turns: int
    passages: int
    tokens: int
    """Of the passages, rather too many than too few."""


async def estimate_embedding(
    graph: FollowedGraph, groups: Sequence[IndexedGroup]
) -> EmbeddingEstimate:
    versions = await graph.versions()
    turns, passages, tokens = 0, 0.0, 0.0
    for group, unread in sorted(unread_commits(groups, versions).items()):
        sample = await graph.commits(group, unread.start - 1, _SAMPLE) if unread else ()
        if sample:
            pending = min(len(unread), versions[group].turns)
            turns += pending
            texts = [passage.text for turn in sample for passage in split_passages(turn.text)]
            passages += pending * len(texts) / len(sample)
            tokens += pending * estimate_tokens(*texts) / len(sample)
    return EmbeddingEstimate(turns, round(passages), round(tokens))
