"""The lines that turns added to files, complete: only the archive holds all of a long edit.

The texts are as the archive has them, with their secrets: they are compared, never shown.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from turnetl import formats
from turnetl.base.errors import BadArchive
from turnetl.base.graph_model import Receipt
from turnetl.base.ids import own_hash
from turnetl.base.model import ArchivedEdit, GroupId, NotRead, TurnId
from turnetl.base.reason import SkipReason
from turnetl.formats.kit.tool_input import added_lines
from turnetl.formats.port import RawTurn
from turnetl.lake import absolute_path_text
from turnetl.parsing.archive_files import LOCAL, ArchiveFiles
from turnetl.parsing.archive_paths import StandsFor, find_archive
from turnetl.parsing.redaction import ArchiveWithPath, redact_turns
from turnetl.parsing.sources import read_archive
from turnetl.parsing.table import ArchiveTurns, build_rows
from turnetl.redact import Redactor

ArchivedEdits = Mapping[TurnId, Sequence[ArchivedEdit] | NotRead]
_Source = tuple[str, GroupId, str]
"""Archive, group and format of a turn."""


def archived_edits(
    receipts: Sequence[Receipt],
    redactors: Sequence[Redactor],
    stands_for: StandsFor,
    files: ArchiveFiles = LOCAL,
) -> ArchivedEdits:
    """Return the edits of turns as their archives have them, or why they cannot be read.

    A turn is read only if its archive still has it as it was committed, by its `content_hash`. Any
    of the redactors may have redacted it: the digest is of redacted texts.
    """
    found: dict[TurnId, Sequence[ArchivedEdit] | NotRead] = {}
    for source, of_source in groupby(sorted(receipts, key=_source), key=_source):
        found |= _edits_in(source, list(of_source), redactors, stands_for, files)
    return found


def _edits_in(
    source: _Source,
    receipts: Sequence[Receipt],
    redactors: Sequence[Redactor],
    stands_for: StandsFor,
    files: ArchiveFiles,
) -> ArchivedEdits:
    name, group, format_name = source
    try:
        path = find_archive(name, stands_for, files)
        data = read_archive(path, files)
    except BadArchive as error:
        is_missing = error.reason is SkipReason.MISSING
        reason = NotRead.MISSING if is_missing else NotRead.UNREADABLE
        return {receipt.turn_id: reason for receipt in receipts}
    found: dict[TurnId, Sequence[ArchivedEdit] | NotRead] = {
        receipt.turn_id: NotRead.CHANGED for receipt in receipts
    }
    if (reader := formats.by_name(format_name)) is None:
        return found
    archive = ArchiveWithPath(reader.read(data), absolute_path_text(path))
    wanted = {(receipt.turn_id, own_hash(receipt.content_hash)) for receipt in receipts}
    for redactor in redactors:
        keys = _keys(archive, redactor, format_name, group)
        for key, turn in zip(keys, archive.parsed.rows, strict=True):
            if key in wanted:
                wanted.remove(key)
                found[key[0]] = list(_edits(turn))
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


def _edits(turn: RawTurn) -> Iterator[ArchivedEdit]:
    for call in turn.tool_calls:
        if not call.is_error:
            for path, lines in added_lines(call.arguments):
                yield ArchivedEdit(path, tuple(lines), call.ended_at)


def _source(receipt: Receipt) -> _Source:
    return receipt.archive, receipt.group_id, receipt.format
