"""Episode texts split into short, overlapping passages, which are compared with a query."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from turnetl.retrieval.query import Scores

_LENGTH = 500
"""Characters. The embedding of a longer passage is less specific; a shorter one lacks context."""
_OVERLAP = 100
_MAX_PASSAGES = 60
"""Passages of one turn that are embedded."""

_PROMPT_WEIGHT = 1.25
"""Users remember their own prompts better than the responses."""

_MESSAGE = re.compile(r"^(user|assistant|tools): ", re.MULTILINE)
"""The start of a message in an episode text."""


@dataclass(frozen=True, slots=True)
class Passage:
    text: str
    weight: float
    """Relative to an ordinary passage."""


def split_passages(text: str) -> list[Passage]:
    """Split an episode text into passages that lie within one section; prompts weigh more."""
    return [
        Passage(piece, _PROMPT_WEIGHT if role == "user" else 1.0)
        for role, section in _sections(text)
        for piece in _pieces(section)
    ]


def select_passages(
    passages: Sequence[Passage], shares: Callable[[Sequence[str]], Scores]
) -> list[Passage]:
    """Return the passages of a long turn that are worth embedding, in their order.

    Those that contain most of the query come first; among equal ones, the beginning and the end of
    the turn.

    Args:
        passages: all passages of a turn.
        shares: returns for each text the share of the query that it contains.
    """
    if len(passages) <= _MAX_PASSAGES:
        return list(passages)
    half, end = _MAX_PASSAGES // 2, len(passages)
    by_preference = np.array([*range(half), *range(end - half, end), *range(half, end - half)])
    contained = shares([passages[index].text for index in by_preference])
    best = by_preference[np.argsort(-contained, kind="stable")[:_MAX_PASSAGES]]
    return [passages[index] for index in np.sort(best)]


def _sections(text: str) -> list[tuple[str, str]]:
    """Return (role, text) pairs; consecutive messages of one role are one section."""
    before, *messages = _MESSAGE.split(text)
    sections = [("", before)]
    for role, message in zip(messages[::2], messages[1::2], strict=True):
        if role == sections[-1][0]:
            sections[-1] = (role, sections[-1][1] + message)
        else:
            sections.append((role, message))
    return [(role, section.strip()) for role, section in sections if section.strip()]


def _pieces(text: str) -> list[str]:
    """Split at a space where there is one nearby; each piece overlaps the one before."""
    pieces = []
    start = 0
    while start < len(text):
        end = _break(text, start + _LENGTH)
        pieces.append(text[start:end].strip())
        if end >= len(text):
            break
        start = max(end - _OVERLAP, start + 1)
    return [piece for piece in pieces if piece]


def _break(text: str, offset: int) -> int:
    if offset >= len(text):
        return len(text)
    space = text.rfind(" ", offset - _OVERLAP // 2, offset)
    return space if space > 0 else offset
