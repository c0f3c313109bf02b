"""Batches of archive jobs: each archive to one turns file, in five steps.

The steps are read, redact, describe, build and write; only the first opens the archive and only the
last writes. Each runs for all archives before the next one starts: that is a quarter faster,
because the code of a step stays in the processor's caches (benchmarks/parse.py).
"""

import gc
import hashlib
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import polars as pl
import pyarrow as pa

from turnetl import formats
from turnetl.base import ids, schema
from turnetl.base.errors import BadArchive, Fatal, LakeChanged, Retryable, TableUnusable
from turnetl.base.object_url import path_text
from turnetl.formats import Format
from turnetl.formats.kit.counts import TooManyRows
from turnetl.formats.kit.json_archives import is_document
from turnetl.formats.port import ParseCounts, ParsedArchive
from turnetl.lake import (
    ArchiveMetadata,
    Lake,
    absolute_path_text,
    arrow_schema,
    set_aside,
    write_error,
)
from turnetl.lake.parallel import in_parallel
from turnetl.lake.parquet_writer import ArrowRows
from turnetl.lake.versions import TOKENS
from turnetl.parsing import problems, sources
from turnetl.parsing.archive_paths import shown_path
from turnetl.parsing.edit_outlines import add_outlines
from turnetl.parsing.forgetting import rows_not_forgotten, without_forgotten
from turnetl.parsing.jobs import ArchiveJob, ParseOptions, StoredArchive
from turnetl.parsing.parse_report import ArchiveReport, Outcome, Problem
from turnetl.parsing.redaction import ArchiveWithPath, RedactedTurns, redact_turns
from turnetl.parsing.session_databases import SessionDatabases
from turnetl.parsing.side_files import add_side_files, add_whole_outputs
from turnetl.parsing.sources import ArchiveStat
from turnetl.parsing.table import ArchiveTurns, build_rows
from turnetl.redact import Redactor
from turnetl.redact.port import is_plain

log = logging.getLogger(__name__)

_Out = TypeVar("_Out")


@dataclass(frozen=True, slots=True)
class ArchiveContent:
    """A parsed archive. Its texts may hold secrets."""

    format: Format
    stat: ArchiveStat
    """Its state when it was read."""
    parsed: ParsedArchive
    sha256: str
    """SHA-256 of the stored bytes, in hex."""
    problem: Problem | None


@dataclass(frozen=True, slots=True)
class StoredTurns:
    """The rows in the lake of an archive with a new modification time and the same content."""

    rows: pl.DataFrame
    metadata: ArchiveMetadata
    stat: ArchiveStat


@dataclass(frozen=True, slots=True)
class RedactedArchive:
    """A parsed archive without secrets."""

    format: Format
    stat: ArchiveStat
    """Its state when it was read."""
    turns: RedactedTurns
    counts: ParseCounts
    sha256: str
    problem: Problem | None
    forgotten_runs: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class DescribedArchive:
    """An archive without secrets, and the metadata of its turns file."""

    archive: RedactedArchive
    metadata: ArchiveMetadata


@dataclass(frozen=True, slots=True)
class TurnsTable:
    """A turns file that is ready to be written, and the report on its archive."""

    rows: pl.DataFrame | ArrowRows
    metadata: ArchiveMetadata
    report: ArchiveReport


_Content = ArchiveContent | StoredTurns | ArchiveReport
_Redacted = RedactedArchive | StoredTurns | ArchiveReport
_Table = TurnsTable | ArchiveReport
"""A report instead of content, texts or a table: a step failed for the archive, or it waits."""


def parse_batch(
    jobs: Sequence[ArchiveJob], options: ParseOptions, *, attempts: int = 3
) -> list[ArchiveReport]:
    """Bring the turns files of some archives up to date.

    No content of an archive makes this function raise or affects the other archives. An archive
    whose turns file other processes replace is parsed up to `attempts` times.
    """
    with _no_garbage_collection():
        contents = _read_batch(jobs, options)
        archives = _redact_batch(jobs, contents, options.redactor)
        tables = _build_batch(jobs, archives, options)
        if options.dry_run:
            return [table if isinstance(table, ArchiveReport) else table.report for table in tables]
        return _write_batch(jobs, tables, options, attempts)


def _read_batch(jobs: Sequence[ArchiveJob], options: ParseOptions) -> list[_Content]:
    threads = max((options.files.parallel_reads(job.stat.path) for job in jobs), default=1)
    with SessionDatabases() as databases:

        def read_one(job: ArchiveJob) -> _Content:
            return _attempt(job, partial(read, job, options, databases))

        if threads == 1:
            return [read_one(job) for job in jobs]
        return in_parallel(read_one, jobs, threads)


def _redact_batch(
    jobs: Sequence[ArchiveJob], contents: list[_Content], redactor: Redactor
) -> list[_Redacted]:
    """Redact all archives in one call, else one by one. Empties `contents`, which hold secrets."""
    parsed = [content for content in contents if isinstance(content, ArchiveContent)]
    try:
        redacted = iter(redact(parsed, redactor))
    except Exception:  # noqa: BLE001 - the error is raised again for the archive that causes it
        redacted = None
    archives: list[_Redacted] = []
    for job, content in zip(jobs, contents, strict=True):
        if not isinstance(content, ArchiveContent):
            archives.append(content)
        elif redacted is not None:
            archives.append(next(redacted))
        else:
            one = _attempt(job, partial(redact, [content], redactor))
            archives += [one] if isinstance(one, ArchiveReport) else one
    contents.clear()
    return archives


def _build_batch(
    jobs: Sequence[ArchiveJob], archives: list[_Redacted], options: ParseOptions
) -> list[_Table]:
    """Build the rows of all archives together, else one by one. Empties `archives`."""
    described = [
        archive
        if isinstance(archive, ArchiveReport)
        else _attempt(job, partial(describe, job, archive, options))
        for job, archive in zip(jobs, archives, strict=True)
    ]
    archives.clear()
    try:
        rows = iter(build([one for one in described if isinstance(one, DescribedArchive)]))
    except Exception:  # noqa: BLE001 - the error is raised again for the archive that causes it
        rows = None
    tables: list[_Table] = []
    for job, one in zip(jobs, described, strict=True):
        if not isinstance(one, DescribedArchive):
            tables.append(one)
        else:
            of_one = next(rows) if rows is not None else None
            tables += [_attempt(job, partial(complete, job, one, of_one, options))]
    return tables


def _write_batch(
    jobs: Sequence[ArchiveJob], tables: list[_Table], options: ParseOptions, attempts: int
) -> list[ArchiveReport]:
    """Write the tables. Empties `tables` one by one, to release their memory.

    An archive whose turns file another process replaced is parsed again from the newer one.
    """
    written: list[ArchiveReport | LakeChanged] = []
    if (threads := options.lake.files.parallel_writes) > 1:
        work = list(zip(jobs, tables, strict=True))
        written += in_parallel(lambda one: _write(*one, options.lake), work, threads)
    else:
        tables.reverse()
        written += [_write(job, tables.pop(), options.lake) for job in jobs]
    reports = []
    for job, report in zip(jobs, written, strict=True):
        if not isinstance(report, LakeChanged):
            reports.append(report)
        elif attempts == 1:
            raise report
        else:
            again = [_with_current_files(job, options.lake)]
            reports += parse_batch(again, options, attempts=attempts - 1)
    return reports


def _write(job: ArchiveJob, table: _Table, lake: Lake) -> ArchiveReport | LakeChanged:
    if isinstance(table, ArchiveReport):
        return table
    try:
        return _attempt(job, partial(write, job, table, lake))
    except LakeChanged as error:
        return error


def _with_current_files(job: ArchiveJob, lake: Lake) -> ArchiveJob:
    """Return the job with the turns files that the archive has now."""
    digest = job.stored.digest
    files = tuple(path for path in lake.turn_paths() if path.stem == digest)
    metadata = lake.archive_metadata(files[-1]) if files else None
    return replace(job, stored=StoredArchive(digest, files, metadata))


def _attempt(job: ArchiveJob, step: Callable[[], _Out]) -> _Out | ArchiveReport:
    """Run a step, or return the report on the archive for which it failed."""
    path = job.stat.path
    try:
        return step()
    except BadArchive as error:
        return problems.skipped_report(path, error)
    except (Fatal, Retryable):
        raise
    except MemoryError:
        return problems.skipped_report(path, problems.out_of_memory(path))
    except Exception as error:
        # One archive must not stop ten thousand others.
        name = path_text(path)
        shown = name if is_plain(name) else f"{job.stored.digest}.parquet"
        log.info("unexpected error in archive %s", shown, exc_info=True)
        return problems.skipped_report(path, problems.unexpected_error(path, error))


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Collect no garbage: turns form no reference cycles, and it would take a tenth of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def read(
    job: ArchiveJob, options: ParseOptions, databases: SessionDatabases | None = None
) -> ArchiveContent | StoredTurns:
    """Step 1: read and parse an archive, or read its stored rows if these are up to date."""
    path, previous = job.stat.path, job.stored.metadata
    check_head(job.stat, previous, options)
    data, stat = sources.read_stored(job.stat, options.files, options.histories, databases)
    sha256 = hashlib.sha256(data).hexdigest()
    if (
        previous is not None
        and previous.sha256 == sha256
        and options.gives_same_turns(previous, path)
    ):
        with suppress(TableUnusable):
            return StoredTurns(options.lake.read_turns_file(job.stored.files[-1]), previous, stat)
    archive = sources.decompress_archive(path, data, options.limits)
    del data
    return _parse(stat, archive, sha256, previous, options)


def redact(contents: Sequence[ArchiveContent], redactor: Redactor) -> list[RedactedArchive]:
    """Step 2: redact the texts of several archives in one call."""
    archives = [
        ArchiveWithPath(content.parsed, absolute_path_text(content.stat.path))
        for content in contents
    ]
    return [
        RedactedArchive(
            format=content.format,
            stat=content.stat,
            turns=turns,
            counts=content.parsed.counts,
            sha256=content.sha256,
            problem=content.problem
            and content.problem.of(shown_path(content.stat.path, turns.archive)),
        )
        for content, turns in zip(contents, redact_turns(archives, redactor), strict=True)
    ]


def describe(
    job: ArchiveJob, archive: RedactedArchive | StoredTurns, options: ParseOptions
) -> DescribedArchive | TurnsTable:
    """Step 3: leave forgotten turns out, and make the metadata; stored rows are a whole table."""
    if isinstance(archive, StoredTurns):
        return _build_unchanged(archive, options)
    turns, counts, runs = without_forgotten(
        archive.turns, archive.counts, archive.format.name, options.forgotten
    )
    archive = replace(archive, turns=turns, counts=counts, forgotten_runs=runs)
    return DescribedArchive(archive, _metadata(job, archive, options))


def build(archives: Sequence[DescribedArchive]) -> list[ArrowRows]:
    """Step 4: build the rows of several archives together."""
    return build_rows(
        [
            ArchiveTurns(one.archive.turns, one.metadata.format, one.metadata.group)
            for one in archives
        ]
    )


def complete(
    job: ArchiveJob, described: DescribedArchive, rows: ArrowRows | None, options: ParseOptions
) -> _Table:
    """Add the turns of the previous file that the archive no longer holds, and the report.

    Builds the rows first if there are none. Only the report is returned if it has runs that must
    be forgotten before.
    """
    archive, metadata = described.archive, described.metadata
    if rows is None:
        (rows,) = build([described])
    table_problem = retained = None
    try:
        retained = rows_to_retain(rows, metadata, job.stored, options.lake)
        retained = rows_not_forgotten(retained, options.forgotten)
    except TableUnusable as error:
        table_problem = problems.damaged_table(error.path, metadata, job.stored.metadata)
    rows, metadata = with_retained(rows, metadata, retained)
    outcome = Outcome.NEW if job.stored.metadata is None else Outcome.CHANGED
    report = replace(
        options.report(metadata, job.stat.path, outcome),
        problem=archive.problem,
        table_problem=table_problem,
    )
    if options.forgotten.lacks(archive.forgotten_runs):
        return replace(report, forgotten_runs=archive.forgotten_runs)
    return TurnsTable(rows, metadata, report)


def write(job: ArchiveJob, table: TurnsTable, lake: Lake) -> ArchiveReport:
    """Step 5: write the turns file; it replaces the archive's previous files.

    A damaged file that may hold turns which the archive lost is kept under another name.
    """
    if table.report.table_problem:
        damaged = job.stored.files[-1]
        try:
            set_aside(lake.files, damaged)
        except OSError as error:
            raise write_error(damaged, error) from error
    lake.write_turns(
        table.rows,
        table.metadata,
        digest=job.stored.digest,
        previous_files=job.stored.files,
        may_replace=partial(_may_replace, job, table),
    )
    return table.report


def _may_replace(job: ArchiveJob, table: TurnsTable, current: ArchiveMetadata | None) -> bool:
    """Return whether the turns file is the one that the table was built from, or equals it."""
    previous = job.stored.metadata
    is_elsewhere = previous is None or previous.group != table.metadata.group
    expected = None if is_elsewhere or table.report.table_problem else previous
    return current in (expected, table.metadata)


def _parse(
    stat: ArchiveStat,
    archive: sources.DecompressedArchive,
    sha256: str,
    previous: ArchiveMetadata | None,
    options: ParseOptions,
) -> ArchiveContent:
    path, data = stat.path, archive.data
    format_ = options.detect_format(data, previous)
    if format_ is None:
        raise problems.unknown_format(path, data)
    try:
        parsed = format_.read(data)
    except TooManyRows:
        raise problems.too_many_rows(path) from None
    add_side_files(parsed, format_.name, path, options.files)
    add_whole_outputs(parsed, format_.name, path, options.files)
    add_outlines(parsed.rows)
    # No table holds these: they are not redacted, and may be long.
    for call in (call for turn in parsed.rows for call in turn.tool_calls):
        call.arguments, call.original = None, ""
    if not parsed.counts.used and (detected := formats.sniff(data)) is not format_:
        raise problems.wrong_format(path, format_, detected)
    problem = archive.problem or problems.line_problem(
        path, parsed.counts, ends_with_newline=data.endswith(b"\n")
    )
    return ArchiveContent(format_, stat, parsed, sha256, problem)


def _build_unchanged(stored: StoredTurns, options: ParseOptions) -> TurnsTable:
    """Return the same rows with the new modification time, for which the next run checks."""
    previous, stat = stored.metadata, stored.stat
    _, group_is_explicit = options.group_of_stored(previous, stat.path)
    metadata = replace(
        previous,
        size=stat.size,
        mtime_ns=stat.mtime_ns,
        e_tag=stat.e_tag,
        group_is_explicit=group_is_explicit,
        format_is_explicit=options.explicit_format_for(previous) is not None,
    )
    report = options.report(previous, stat.path, Outcome.UNCHANGED)
    return TurnsTable(stored.rows, metadata, report)


def _metadata(job: ArchiveJob, archive: RedactedArchive, options: ParseOptions) -> ArchiveMetadata:
    previous = job.stored.metadata
    group, group_is_explicit = options.group_for(
        previous, archive.turns.cwd, archive.format.name, absolute_path_text(job.stat.path)
    )
    of_file = job.stored.group
    if previous is None and of_file is not None and not group_is_explicit and of_file != group:
        # The metadata are damaged; the folder still says what the user named.
        group, group_is_explicit = of_file, True
    return ArchiveMetadata(
        archive=archive.turns.archive,
        size=archive.stat.size,
        mtime_ns=archive.stat.mtime_ns,
        e_tag=archive.stat.e_tag,
        sha256=archive.sha256,
        format=archive.format.name,
        reader_version=archive.format.version,
        redactor_version=options.redactor_version,
        group=group,
        group_is_explicit=group_is_explicit,
        counts=archive.counts.as_mapping(),
        subagent_usage=archive.turns.subagent_usage,
        tokens=TOKENS,
        cwd=archive.turns.cwd,
        format_is_explicit=options.explicit_format_for(previous) is not None,
    )


_DETECTION_LINES = 64
"""Lines that are enough to detect the format of an archive of lines."""


def check_head(stat: ArchiveStat, previous: ArchiveMetadata | None, options: ParseOptions) -> None:
    """Reject a large file without reading all of it, if its head shows that it is no archive."""
    if stat.size <= sources.HEAD_BYTES or not stat.is_file:
        return
    head = sources.read_head(stat, options.files)
    if options.detect_format(head, previous) is not None:
        return
    # The keys of a document decide its format, and may come last.
    if head.count(b"\n") >= _DETECTION_LINES and not is_document(head):
        raise problems.unknown_format(stat.path, head)


def rows_to_retain(
    rows: ArrowRows, metadata: ArchiveMetadata, stored: StoredArchive, lake: Lake
) -> pl.DataFrame | None:
    """Return the stored turns of an archive that its new rows lack; None if there are none.

    They stay when a log is rotated or cut short. A turn is recognised by its id: another group,
    format or version of the format's reader gives the same turns other ids.

    Raises:
        TableUnusable: the newest turns file is another archive's, or is damaged and may hold such
            turns.
    """
    previous = stored.metadata
    if previous is None and not stored.files:
        return None
    if stored.is_misplaced:
        message = "it holds the turns of another archive: run `turnetl verify --fix`"
        raise TableUnusable(stored.files[-1], message)
    if previous is not None and _identity(previous) != _identity(metadata):
        return None
    try:
        before = lake.read_turns_file(stored.files[-1])
    except TableUnusable:
        if previous and previous.sha256 == metadata.sha256 and not previous.retained_turns:
            return None
        raise
    ids_now = pl.Series(rows["turn_id"], dtype=pl.String)
    retained = before.filter(~pl.col("turn_id").is_in(ids_now.implode()))
    return None if retained.is_empty() else retained


def with_retained(
    rows: ArrowRows, metadata: ArchiveMetadata, retained: pl.DataFrame | None
) -> tuple[ArrowRows, ArchiveMetadata]:
    """Return the rows with the retained ones after them, and the metadata that counts them."""
    if retained is None:
        return rows, metadata
    # Stored rows may have the path as another redactor left it.
    retained = retained.with_columns(archive=pl.lit(metadata.archive))
    table = retained.to_arrow().cast(arrow_schema(schema.TURNS))
    parsed = pa.Table.from_batches([rows]) if isinstance(rows, pa.RecordBatch) else rows
    turns = retained.filter(schema.IS_TURN)["turn_id"]
    return pa.concat_tables([parsed, table]).combine_chunks(), replace(
        metadata,
        retained_turns=len(turns),
        retained_digest="" if turns.is_empty() else ids.digest(*turns),
    )


def _identity(metadata: ArchiveMetadata) -> tuple[object, ...]:
    """Return what the ids of an archive's turns depend on, beside the archive."""
    return metadata.group, metadata.format, metadata.reader_version
