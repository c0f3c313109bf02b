"""What an import makes of the rows that an earlier import of the same archive added."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import polars as pl

from turnetl.base import ids
from turnetl.base.model import MessageCounts, SubagentUsage
from turnetl.formats.kit.usage import Tokens, greatest, place_of, usage_of_messages
from turnetl.lake import ArchiveMetadata, Lake
from turnetl.parsing.archive_paths import local_path
from turnetl.parsing.redaction import with_models
from turnetl.redact import Redactor
from turnetl.transfer.redaction import redacted_models, redacted_tables
from turnetl.transfer.transfer_report import ImportOutcome

_encode = msgspec.json.Encoder().encode


def missing_rows(
    rows: pl.DataFrame,
    metadata: ArchiveMetadata,
    path: Path,
    stored: ArchiveMetadata | None,
    lake: Lake,
) -> pl.DataFrame:
    """Return the rows of an earlier import that these rows lack: it was of a larger selection.

    Another format, or version of its reader, gives the same turns other ids: no row is missing.

    Args:
        stored: metadata of the imported file; None: it has none, or does not exist.
    """
    if not path.exists():
        return rows.clear()
    before = lake.read_turns_file(path)
    if stored is not None and _reader(stored) != _reader(metadata):
        return rows.clear()
    return before.filter(~pl.col("turn_id").is_in(rows["turn_id"].implode()))


def redacted_together(
    rows: pl.DataFrame, missing: pl.DataFrame, archive: str, redactor: Redactor
) -> tuple[pl.DataFrame, int]:
    """Return rows and their `missing_rows` without secrets, and the number of redactions.

    A secret that one of them reveals is redacted in all of them.
    """
    # Not after its machine, whose name stays: its redaction would count again in every import.
    without_machine = missing.with_columns(archive=pl.lit(local_path(archive)))
    return redacted_tables([pl.concat([rows, without_machine])], redactor)[0]


def merged_usage(
    new: ArchiveMetadata, stored: ArchiveMetadata | None, redactor: Redactor
) -> tuple[SubagentUsage, ...] | None:
    """Return tokens of subagents with those of an earlier import of more turns by the same reader.

    Of the same subagent, model and day, all messages count once. Where an older turnetl recorded no
    messages, the entry with most tokens counts.
    """
    usage = new.subagent_usage
    is_same_reader = stored is not None and _reader(stored) == _reader(new)
    before = stored.subagent_usage if stored is not None and is_same_reader else None
    if usage is None and before is None:
        return None
    merged: dict[tuple[str, str, str, str], SubagentUsage] = {}
    for one in (*_redacted_again(before or (), usage or (), redactor), *(usage or ())):
        key = place_of(one.subagent, one.session, one.model, one.started_at)
        merged[key] = _merged(merged[key], one) if key in merged else one
    return tuple(merged[key] for key in sorted(merged))


def _merged(one: SubagentUsage, other: SubagentUsage) -> SubagentUsage:
    """Return all messages of two entries of the same subagent, model and day."""
    if not (one.messages and other.messages):
        return max(one, other, key=_tokens)
    counts: dict[str, Tokens] = {}
    for message in (*one.messages, *other.messages):
        tokens = Tokens(*message[1:])
        counts[message.message] = greatest(counts.get(message.message, tokens), tokens)
    messages = [MessageCounts(name, *tokens) for name, tokens in counts.items()]
    times = [time for time in (one.started_at, other.started_at) if time is not None]
    return usage_of_messages(replace(one, started_at=min(times, default=None)), messages)


def _redacted_again(
    before: tuple[SubagentUsage, ...], new: tuple[SubagentUsage, ...], redactor: Redactor
) -> tuple[SubagentUsage, ...]:
    """Return earlier tokens with redacted models. Those that the new tokens have are redacted."""
    clean = {one.model for one in new}
    models = redacted_models([one for one in before if one.model not in clean], redactor)
    return with_models(before, models) or ()


def _tokens(usage: SubagentUsage) -> int:
    return usage.input_tokens + usage.output_tokens


def rows_digest(rows: pl.DataFrame) -> str:
    """Return a digest of all columns: a new reader can change others than the texts."""
    return ids.digest(*map(_encode, rows.iter_rows()))


def outcome_of(before: Sequence[ArchiveMetadata], new: ArchiveMetadata) -> ImportOutcome:
    """Return what is done, given the metadata of the earlier files of the same archive."""
    if not before:
        return ImportOutcome.NEW
    same = all(_content(one) == _content(new) for one in before)
    return ImportOutcome.UNCHANGED if same else ImportOutcome.CHANGED


def _content(metadata: ArchiveMetadata) -> tuple[object, ...]:
    return (
        *_reader(metadata),
        metadata.redactor_version,
        metadata.sha256,
        metadata.group,
        metadata.archive,
        metadata.cwd,
        metadata.subagent_usage,
    )


def _reader(metadata: ArchiveMetadata) -> tuple[str, int]:
    return metadata.format, metadata.reader_version
