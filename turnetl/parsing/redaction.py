"""Redaction of a parsed archive: its texts are collected, and put back without secrets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from operator import attrgetter

from turnetl.formats.base import ParsedArchive, RawTurn

_NAME_FIELDS = (
    *("session_id", "prompt_id", "parent_session_id", "agent_id", "model", "app_version"),
)
_names_of = attrgetter(*_NAME_FIELDS)
_SINGLE_TEXTS = 4
"""Texts of a turn that precede those of its lists: see `_turn_texts`."""


@dataclass(frozen=True, slots=True)
class RedactedTurns:
    """The turns of an archive without secrets."""

    turns: Sequence[RawTurn]
    chars: Sequence[int]
    """Characters of each turn before redaction."""
    redactions: Sequence[int]
    """Number of redactions in each turn."""
    cwd: str | None


def archive_texts(archive: ParsedArchive) -> list[str]:
    """Return all texts that may hold a secret, in the order that `redacted_turns` expects."""
    texts = [archive.cwd or ""]
    for turn in archive.turns:
        texts += _turn_texts(turn)
    return texts + _names(archive)


def redacted_turns(
    archive: ParsedArchive, texts: Sequence[str], counts: Sequence[int]
) -> RedactedTurns:
    """Return the turns with their redacted texts.

    Args:
        archive: the parsed archive.
        texts: its `archive_texts`, redacted.
        counts: the number of redactions in each text.
    """
    turns, redactions = archive.turns, [0] * len(archive.turns)
    if any(counts):
        ends = list(accumulate((_text_count(turn) for turn in turns), initial=1))
        redactions = [sum(counts[start:end]) for start, end in pairwise(ends)]
        turns = [
            _with_texts(turn, texts[start:end]) if redacted else turn
            for turn, (start, end), redacted in zip(turns, pairwise(ends), redactions, strict=True)
        ]
        if any(counts[ends[-1] :]):
            names = dict(zip(_names(archive), texts[ends[-1] :], strict=True))
            turns = [_with_names(turn, names) for turn in turns]
    chars = [turn.chars for turn in archive.turns]
    return RedactedTurns(turns, chars, redactions, texts[0] or None)


def join_texts(texts: Sequence[str]) -> str:
    """Return the agent's texts as one text."""
    return "\n\n".join(texts)


def _turn_texts(turn: RawTurn) -> list[str]:
    """Return the texts of a turn that may hold a secret, in the order of `_with_texts`."""
    assistant_text = join_texts(turn.assistant_texts)
    texts = [turn.user_text, assistant_text, turn.cwd or "", turn.git_branch or ""]
    texts += turn.steering
    texts += turn.user_answers
    texts += turn.subagent_prompts
    if turn.tool_calls:
        texts += [call.input for call in turn.tool_calls]
        texts += [call.result for call in turn.tool_calls]
    return texts


def _text_count(turn: RawTurn) -> int:
    lists = len(turn.steering) + len(turn.user_answers) + len(turn.subagent_prompts)
    return _SINGLE_TEXTS + lists + 2 * len(turn.tool_calls)


def _with_texts(turn: RawTurn, texts: Sequence[str]) -> RawTurn:
    """Return the turn with other texts, in the order of `_turn_texts`."""
    rest = iter(texts[_SINGLE_TEXTS:])
    steering, user_answers, subagent_prompts = (
        [next(rest) for _ in values]
        for values in (turn.steering, turn.user_answers, turn.subagent_prompts)
    )
    calls = [replace(call, input=next(rest)) for call in turn.tool_calls]
    return replace(
        turn,
        user_text=texts[0],
        assistant_texts=[texts[1]],
        cwd=texts[2],
        git_branch=texts[3],
        steering=steering,
        user_answers=user_answers,
        subagent_prompts=subagent_prompts,
        tool_calls=[replace(call, result=next(rest)) for call in calls],
    )


def _names(archive: ParsedArchive) -> list[str]:
    """Return the distinct ids and names: an archive may hold any text in their place."""
    names = {name for turn in archive.turns for name in _names_of(turn)}
    names.update(call.name for turn in archive.turns for call in turn.tool_calls)
    return sorted(name for name in names if name)


def _with_names(turn: RawTurn, names: Mapping[str, str]) -> RawTurn:
    fields = zip(_NAME_FIELDS, (names.get(name, name) for name in _names_of(turn)), strict=True)
    calls = [replace(call, name=names.get(call.name, call.name)) for call in turn.tool_calls]
    return replace(turn, tool_calls=calls, **dict(fields))
