"""Redaction of a parsed archive: its texts are collected, and put back without secrets.

Ids and names repeat in every turn of an archive: each is redacted once.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from operator import attrgetter

from msgspec.structs import astuple, replace

from turnetl.base.model import SubagentUsage, Turn
from turnetl.formats.port import ParsedArchive, RawTurn, SubagentStart
from turnetl.parsing.archive_paths import path_texts, redacted_path
from turnetl.parsing.person_names import branch_without_persons, path_without_persons, users_in
from turnetl.redact import RedactedTexts, Redactor

NAME_FIELDS = (
    *("session_id", "prompt_id", "parent_session_id", "agent_id", "model", "app_version"),
    *("cwd", "git_branch"),
)
"""Fields of `RawTurn` and of `Turn` that are ids and names: an archive may hold any text there."""
_names_of = attrgetter(*NAME_FIELDS)
RUN_NAME_FIELDS = ("agent_id", "type", "call_id", "started_by", "model")
"""Those of `SubagentRun`."""
_run_names_of = attrgetter(*RUN_NAME_FIELDS)
_SINGLE_TEXTS = 2
"""Texts of a turn that precede those of its lists: see `_turn_texts`."""


@dataclass(frozen=True, slots=True)
class ArchiveWithPath:
    """An archive whose texts and path may hold secrets."""

    parsed: ParsedArchive
    path: str


@dataclass(frozen=True, slots=True)
class RedactedTurns:
    """The turns of an archive without secrets."""

    turns: Sequence[RawTurn]
    """`ParsedArchive.rows`."""
    chars: Sequence[int]
    """Characters of each turn before redaction."""
    redactions: Sequence[int]
    """Number of redactions in each turn, its ids and names included."""
    cwd: str | None
    archive: str
    """The path of the archive, redacted."""
    subagent_usage: tuple[SubagentUsage, ...] | None = None
    """As `ParsedArchive` has it, with redacted models."""


def archive_texts(archive: ArchiveWithPath) -> list[str]:
    """Return all texts that may hold a secret, in the order that `_redacted_turns` expects."""
    # Names come first: a column of texts that ends with short ones takes twice the memory.
    texts = _names(archive)
    for turn in archive.parsed.rows:
        texts += _turn_texts(turn)
    return texts


def redact_turns(
    archives: Sequence[ArchiveWithPath], redactor: Redactor
) -> Iterator[RedactedTurns]:
    """Yield the turns of each archive without secrets. All archives are redacted in one call."""
    redacted = redactor.redact_many([archive_texts(archive) for archive in archives])
    for archive, texts in zip(archives, redacted, strict=True):
        yield _redacted_turns(archive, texts, redactor)


def turn_names(turn: RawTurn | Turn) -> set[str]:
    """Return the ids and names in a turn that may hold a secret, those of its tools included."""
    messages = turn.usage.values() if isinstance(turn, RawTurn) else turn.usage or ()
    names = {*_names_of(turn), *(call.name for call in turn.tool_calls)}
    if isinstance(turn, RawTurn):
        names |= {*_link_names(turn)}
    names |= {message.model for message in messages}
    for run in turn.subagents if isinstance(turn, Turn) else ():
        names |= {*_run_names_of(run), *(call.name for call in run.tool_calls)}
    return {name for name in names if name}


def with_models(
    usage: tuple[SubagentUsage, ...] | None, names: Mapping[str, str]
) -> tuple[SubagentUsage, ...] | None:
    """Return the tokens of subagents with redacted models, given what stands for each name."""
    if usage is None:
        return None
    return tuple(
        dataclasses.replace(one, model=names.get(one.model or "", one.model)) for one in usage
    )


def join_texts(texts: Sequence[str]) -> str:
    return "\n\n".join(texts)


def _redacted_turns(
    archive: ArchiveWithPath, redacted: RedactedTexts, redactor: Redactor
) -> RedactedTurns:
    turns, (texts, counts) = archive.parsed.rows, redacted
    chars, redactions = [turn.chars for turn in turns], [0] * len(turns)
    if not redactor.redacts_persons and not any(counts):
        return RedactedTurns(
            turns,
            chars,
            redactions,
            archive.parsed.cwd or None,
            archive.path,
            archive.parsed.subagent_usage,
        )
    names = _names(archive)
    first_text = len(names)
    changed = dict(zip(names, texts[:first_text], strict=True))
    changed[archive.path] = redacted_path(archive.path, changed)
    name_counts = dict(zip(names, counts[:first_text], strict=True))
    if redactor.redacts_persons:
        _redact_persons(archive, changed, name_counts, redactor)
    if any(counts[first_text:]):
        turns, redactions = _with_all_texts(turns, redacted, first_text)
    if any(name_counts.values()):
        named = [sum(name_counts[name] for name in turn_names(turn)) for turn in turns]
        redactions = [number + more for number, more in zip(redactions, named, strict=True)]
        turns = [_with_names(turn, changed) for turn in turns]
    return RedactedTurns(
        turns,
        chars,
        redactions,
        changed.get(archive.parsed.cwd or "") or None,
        changed[archive.path],
        with_models(archive.parsed.subagent_usage, changed),
    )


def _with_all_texts(
    turns: Sequence[RawTurn], redacted: RedactedTexts, first_text: int
) -> tuple[list[RawTurn], list[int]]:
    """Return turns with their redacted texts, and the redactions in each; the names come first."""
    texts, counts = redacted
    ends = list(accumulate(map(_text_count, turns), initial=first_text))
    redactions = [sum(counts[start:end]) for start, end in pairwise(ends)]
    clean = [
        _with_texts(turn, texts[start:end]) if redacted_here else turn
        for turn, (start, end), redacted_here in zip(turns, pairwise(ends), redactions, strict=True)
    ]
    return clean, redactions


def _redact_persons(
    archive: ArchiveWithPath, changed: dict[str, str], counts: dict[str, int], redactor: Redactor
) -> None:
    """Replace the names of persons in git branches and paths of `changed`, and count them."""
    turns, replacement = archive.parsed.rows, redactor.person_placeholder
    folders = {archive.parsed.cwd or "", *(turn.cwd or "" for turn in turns)} - {""}
    users = users_in({*folders, archive.path})
    without = {
        name: branch_without_persons(changed[name], users, replacement)
        for name in {turn.git_branch for turn in turns if turn.git_branch}
    }
    # The group of a folder must not depend on what else the archive names.
    without |= {
        name: path_without_persons(changed[name], users_in([name]), replacement) for name in folders
    }
    for name, text in without.items():
        counts[name] += text != changed[name]
    changed |= without
    changed[archive.path] = path_without_persons(changed[archive.path], users, replacement)


def _turn_texts(turn: RawTurn) -> list[str]:
    """Return the texts of a turn that may hold a secret, in the order of `_with_texts`."""
    texts = [turn.user_text, join_texts(turn.assistant_texts)]
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
        assistant_texts=_split_as(turn, texts[1]),
        steering=steering,
        user_answers=user_answers,
        subagent_prompts=subagent_prompts,
        tool_calls=[replace(call, result=next(rest)) for call in calls],
    )


def _split_as(turn: RawTurn, joined: str) -> list[str]:
    """Return the redacted texts of the agent: apart if the places of others in them count."""
    parts = joined.split("\n\n")
    counts = [text.count("\n\n") + 1 for text in turn.assistant_texts]
    if not (turn.steering_at or turn.answers_at) or sum(counts) != len(parts):
        return [joined]
    ends = accumulate(counts, initial=0)
    return [join_texts(parts[start:end]) for start, end in pairwise(ends)]


def _names(archive: ArchiveWithPath) -> list[str]:
    """Return the distinct ids and names: an archive may hold any text in their place."""
    names: set[str | None] = {archive.parsed.cwd, *path_texts(archive.path)}
    names.update(*map(turn_names, archive.parsed.rows))
    names.update(one.model for one in archive.parsed.subagent_usage or ())
    # An empty part of the path has its place, too.
    return sorted(name for name in names if name is not None)


def _link_names(turn: RawTurn) -> Iterator[str | None]:
    """Yield the ids and names that link subagents to turns."""
    yield turn.subagent_type
    for start in turn.subagent_calls:
        yield from astuple(start)


def _with_names(turn: RawTurn, names: Mapping[str, str]) -> RawTurn:
    fields = zip(NAME_FIELDS, (names.get(name, name) for name in _names_of(turn)), strict=True)
    calls = [replace(call, name=names.get(call.name, call.name)) for call in turn.tool_calls]
    usage = {
        key: replace(message, model=names.get(message.model or "", message.model))
        for key, message in turn.usage.items()
    }
    return replace(
        turn,
        tool_calls=calls,
        usage=usage,
        subagent_calls=[
            SubagentStart(*(name and names.get(name, name) for name in astuple(start)))
            for start in turn.subagent_calls
        ],
        subagent_type=turn.subagent_type and names.get(turn.subagent_type, turn.subagent_type),
        **dict(fields),
    )
