"""The lines that turns added to files, complete: only the archive holds all of a long edit.

The texts are as the archive has them, with their secrets: they are compared, never shown.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import groupby

from turnetl import formats
from turnetl.base.errors import BadArchive
from turnetl.base.graph_model import Receipt
from turnetl.base.ids import own_hash
from turnetl.base.model import ArchivedEdit, GroupId, NotRead, SubagentRun, TurnEdits, TurnId
from turnetl.base.reason import SkipReason
from turnetl.formats.kit.tool_input import added_lines
from turnetl.formats.port import RawToolCall
from turnetl.lake import absolute_path_text
from turnetl.parsing.archive_files import LOCAL, ArchiveFiles
from turnetl.parsing.archive_paths import StandsFor, find_archive
from turnetl.parsing.redaction import ArchiveWithPath, redact_turns
from turnetl.parsing.side_files import add_whole_outputs, turns_to_run
from turnetl.parsing.sources import read_archive
from turnetl.parsing.table import ArchiveTurns, build_rows
from turnetl.redact import Redactor

_Edits = Sequence[ArchivedEdit] | NotRead
Subagents = Mapping[TurnId, Sequence[SubagentRun]]
_Source = tuple[str, GroupId, str]
"""Archive, group and format of a turn."""


def archived_edits(
    receipts: Sequence[Receipt],
    redactors: Sequence[Redactor],
    stands_for: StandsFor,
    files: ArchiveFiles = LOCAL,
    subagents: Callable[[Sequence[Receipt]], Subagents] = lambda _: {},
) -> Mapping[TurnId, TurnEdits]:
    """Return the edits of turns as their archives have them, and which cannot be read.

    A turn is read only if its archive still has it as it was committed, by its `content_hash`, and
    a subagent if its archive has its calls. Any of the redactors may have redacted the turn: the
    digest is of redacted texts.

    Args:
        subagents: returns those of the turns; asked only about turns that have some.
    """
    own: dict[TurnId, _Edits] = {}
    for source, of_source in groupby(sorted(receipts, key=_source), key=_source):
        own |= _edits_in(source, list(of_source), redactors, stands_for, files)
    with_runs = [one for one in receipts if own_hash(one.content_hash) != one.content_hash]
    runs = subagents(with_runs) if with_runs else {}
    own |= {one.turn_id: NotRead.MISSING for one in with_runs if one.turn_id not in runs}
    calls = cache(partial(_subagent_calls, stands_for=stands_for, files=files))
    found = {}
    for receipt in receipts:
        parts: dict[str | None, list[_Edits]] = {None: [own[receipt.turn_id]]}
        for run in runs.get(receipt.turn_id, ()):
            of_run = _run_edits(run, calls(run.archive, receipt.format))
            parts.setdefault(run.archive, []).append(of_run)
        found[receipt.turn_id] = _turn_edits(parts)
    return found


def _turn_edits(parts: Mapping[str | None, Sequence[_Edits]]) -> TurnEdits:
    """Return the edits of the archives of which every part was read."""
    edits, not_read = list[ArchivedEdit](), dict[str | None, NotRead]()
    for archive, of_archive in parts.items():
        read = [one for part in of_archive if not isinstance(part, NotRead) for one in part]
        problems = [part for part in of_archive if isinstance(part, NotRead)]
        if problems:
            not_read[archive] = problems[0]
        else:
            edits += read
    return TurnEdits(tuple(edits), not_read)


_Calls = Mapping[tuple[int, str], Sequence[RawToolCall]]
"""By line and name."""


def _subagent_calls(
    name: str, format_name: str, stands_for: StandsFor, files: ArchiveFiles
) -> _Calls | NotRead:
    """Return the calls of subagents in an archive."""
    try:
        path = find_archive(name, stands_for, files)
        data = read_archive(path, files)
    except BadArchive as error:
        return _not_read(error)
    calls: dict[tuple[int, str], list[RawToolCall]] = {}
    if (reader := formats.by_name(format_name)) is None:
        return calls
    parsed = reader.read(data)
    turns_to_run(parsed, format_name, path)
    for run in parsed.runs:
        for call in run.tool_calls:
            calls.setdefault((call.line, call.name), []).append(call)
    return calls


def _run_edits(run: SubagentRun, calls: _Calls | NotRead) -> _Edits:
    if isinstance(calls, NotRead):
        return calls
    places = dict.fromkeys((call.line, call.name) for call in run.tool_calls)
    if any(place not in calls for place in places):
        return NotRead.CHANGED
    return [edit for place in places for edit in _edits(calls[place])]


def _not_read(error: BadArchive) -> NotRead:
    return NotRead.MISSING if error.reason is SkipReason.MISSING else NotRead.UNREADABLE


def _edits_in(
    source: _Source,
    receipts: Sequence[Receipt],
    redactors: Sequence[Redactor],
    stands_for: StandsFor,
    files: ArchiveFiles,
) -> Mapping[TurnId, _Edits]:
    name, group, format_name = source
    try:
        path = find_archive(name, stands_for, files)
        data = read_archive(path, files)
    except BadArchive as error:
        return {receipt.turn_id: _not_read(error) for receipt in receipts}
    found: dict[TurnId, _Edits] = {receipt.turn_id: NotRead.CHANGED for receipt in receipts}
    if (reader := formats.by_name(format_name)) is None:
        return found
    parsed = reader.read(data)
    add_whole_outputs(parsed, format_name, path, files)
    archive = ArchiveWithPath(parsed, absolute_path_text(path))
    wanted = {(receipt.turn_id, own_hash(receipt.content_hash)) for receipt in receipts}
    for redactor in redactors:
        keys = _keys(archive, redactor, format_name, group)
        for key, turn in zip(keys, archive.parsed.rows, strict=True):
            if key in wanted:
                wanted.remove(key)
                found[key[0]] = list(_edits(turn.tool_calls))
        if not wanted:
            break
    return found


def _keys(
    archive: ArchiveWithPath, redactor: Redactor, format_name: str, group: GroupId
) -> list[tuple[TurnId, str]]:
    """Return id and digest of each turn, as `parse` gives them."""
    (turns,) = redact_turns([archive], redactor)
    (rows,) = build_rows([ArchiveTurns(turns, format_name, group)])
    ids, hashes = (rows.column(name).to_pylist() for name in ("turn_id", "content_hash"))
    return list(zip(ids, hashes, strict=True))


def _edits(calls: Iterable[RawToolCall]) -> Iterator[ArchivedEdit]:
    for call in calls:
        if not call.is_error:
            for path, lines in added_lines(call.arguments):
                yield ArchivedEdit(path, tuple(lines), call.ended_at)


def _source(receipt: Receipt) -> _Source:
    return receipt.archive, receipt.group_id, receipt.format
