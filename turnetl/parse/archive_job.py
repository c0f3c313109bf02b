"""One archive to one turns file, in four steps: heard, cleaned, made into rows, kept.

The file is written as a whole or not at all. The steps are taken in `turnetl.parse.batches`.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl
import pyarrow as pa

from turnetl import formats
from turnetl.formats.base import Format, ParseCounts, ParsedArchive
from turnetl.formats.kit.documents import is_document
from turnetl.lake import ArchiveMetadata, Lake, absolute_path_text, path_text
from turnetl.model import GroupId
from turnetl.parse import problems, sources
from turnetl.parse.grouping import Grouping
from turnetl.parse.report import ArchiveReport, Outcome, Problem
from turnetl.parse.sources import ParseLimits, Seen
from turnetl.parse.table import Redacted, Redactor, redact_each, redacted, rows, texts

_EACH = 1 << 19
"""Bytes that are read while one turns file is written and synced."""
_TELLING = 64
"""Lines that a format is told by, if the archive is one of lines."""


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """What all archives of a run are read with. Goes to other processes whole."""

    lake: Lake
    redactor: Redactor
    redactor_version: str
    grouping: Grouping
    format_is_explicit: str | None
    """The name of the format that a person named for all of them."""
    limits: ParseLimits
    dry_run: bool

    def stands(self, origin: ArchiveMetadata) -> bool:
        """Say whether the same bytes would give the turns that they gave then."""
        return self._reads_alike(origin) and self._placed_again(origin)[0] == origin.group

    def agrees(self, origin: ArchiveMetadata) -> bool:
        """Say whether it `stands` and a person has not said anything new about it either."""
        return (
            self._reads_alike(origin)
            and self._placed_again(origin) == (origin.group, origin.group_is_explicit)
            and (self.tells(origin) is not None) == origin.format_is_explicit
        )

    def group_for(
        self, before: ArchiveMetadata | None, cwd: str | None, name: str, archive: str
    ) -> tuple[GroupId, bool]:
        """Return an archive's group and whether a person named it: what they named once stays."""
        named = self.grouping.named(cwd, name, archive)
        if named is None and before is not None and before.group_is_explicit:
            return before.group, True
        return named or self.grouping.group(cwd, name, archive), named is not None

    def tells(self, before: ArchiveMetadata | None) -> str | None:
        """Return the format that a person named for an archive, now or in an earlier run."""
        return self.format_is_explicit or (
            before.format if before is not None and before.format_is_explicit else None
        )

    def format(self, data: bytes, before: ArchiveMetadata | None) -> Format | None:
        """Return how an archive is read: as a person said, else as it looks."""
        told = self.tells(before)
        known = formats.by_name(told) if told is not None and data.strip() else None
        return known or formats.sniff(data)

    def _reads_alike(self, origin: ArchiveMetadata) -> bool:
        now = (_version(origin), self.redactor_version)
        return (
            self.format_is_explicit in (None, origin.format)
            and (origin.reader_version, origin.redactor_version) == now
        )

    def _placed_again(self, origin: ArchiveMetadata) -> tuple[GroupId, bool]:
        return self.group_for(origin, origin.cwd, origin.format, origin.archive)


@dataclass(frozen=True, slots=True)
class Held:
    """What the lake holds of an archive."""

    digest: str
    """The name of its turns file."""
    files: tuple[Path, ...] = ()
    """Its turns files, the newest last: there is one at most, but for a dry run."""
    metadata: ArchiveMetadata | None = None
    """What the newest says; None also if it says nothing that we know."""


@dataclass(frozen=True, slots=True)
class Work:
    """An archive that must be opened."""

    seen: Seen
    held: Held

    @property
    def effort(self) -> int:
        """Bytes to read; what an archive costs besides, as if it were bytes."""
        return self.seen.size + _EACH


def unchanged(seen: Seen, origin: ArchiveMetadata) -> ArchiveReport:
    """Return what is known of an archive without reading it."""
    counts = ParseCounts.from_mapping(origin.counts)
    return ArchiveReport(
        path_text(seen.path), Outcome.UNCHANGED, origin.format, origin.group, counts, cwd=origin.cwd
    )


@dataclass(frozen=True, slots=True)
class Heard:
    """What an archive says, and what is to be said of it."""

    known: Format
    reading: ParsedArchive
    sha256: str
    """Of the bytes as they lie on disk."""
    problem: Problem | None


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What an archive says, without secrets."""

    heard: Heard
    redacted: Redacted


@dataclass(frozen=True, slots=True)
class Made:
    """What is to be written of an archive."""

    table: pa.Table
    metadata: ArchiveMetadata
    report: ArchiveReport


def hear(work: Work, _: None, run: ParseOptions) -> Heard | ArchiveReport:
    """Read an archive. One that says what it said before is but noted, and done with.

    Raises:
        BadArchive: it cannot be read.
        Stop: the lake cannot be written.
    """
    _glance(work.seen, work.held.metadata, run)
    heard = _heard(work, run)
    return _touched(work, heard, run) if isinstance(heard, ArchiveMetadata) else heard


def clean(_: Work, heard: Heard, run: ParseOptions) -> Cleaned:
    """Cut the secrets out of what an archive says."""
    return clean_all([heard], run)[0]


def clean_all(heard: Sequence[Heard], run: ParseOptions) -> list[Cleaned]:
    """Cut the secrets out of what several archives say, all at once."""
    clean = redact_each(run.redactor, [texts(one.reading) for one in heard])
    both = zip(heard, clean, strict=True)
    return [Cleaned(one, redacted(one.reading, *of)) for one, of in both]


def make(work: Work, cleaned: Cleaned, run: ParseOptions) -> Made:
    """Turn what is without secrets into rows."""
    heard = cleaned.heard
    table, origin = _table(work, cleaned, run)
    report = ArchiveReport(
        archive=path_text(work.seen.path),
        outcome=Outcome.NEW if work.held.metadata is None else Outcome.CHANGED,
        format=origin.format,
        group=origin.group,
        counts=heard.reading.counts,
        problem=heard.problem,
        cwd=origin.cwd,
    )
    return Made(table, origin, report)


def keep(work: Work, made: Made, run: ParseOptions) -> ArchiveReport:
    """Write the turns file, unless nothing shall be written.

    Raises:
        Stop: the lake cannot be written.
    """
    if not run.dry_run:
        _write(work, made.table, made.metadata, run)
    return made.report


def _glance(seen: Seen, before: ArchiveMetadata | None, run: ParseOptions) -> None:
    """Refuse a large archive that can be seen at once to be none.

    Raises:
        BadArchive: it can be.
    """
    if seen.size <= sources.HEAD or seen.is_store:
        return
    head = sources.head(seen)
    if run.format(head, before) is None and not _more_could_tell(head):
        raise problems.unknown(seen.path, head)


def _more_could_tell(head: bytes) -> bool:
    """Say whether a format could know the archive by what stands behind its beginning.

    Of lines the first few decide. A document is told by its keys, and they may come last.
    """
    return head.count(b"\n") < _TELLING or is_document(head)


def _heard(work: Work, run: ParseOptions) -> Heard | ArchiveMetadata:
    """Read an archive; return what is known of it if it says the same, and the rest stands, too.

    Raises:
        BadArchive: it cannot be read.
    """
    path, before = work.seen.path, work.held.metadata
    data = sources.stored(work.seen)
    sha256 = hashlib.sha256(data).hexdigest()
    if before is not None and before.sha256 == sha256 and run.stands(before):
        return before
    content = sources.content(path, data, run.limits)
    del data
    known = run.format(content.data, before)
    if known is None:
        raise problems.unknown(path, content.data)
    reading, whole = known.read(content.data), content.data.endswith(b"\n")
    if not reading.counts.used and (other := formats.sniff(content.data)) is not known:
        raise problems.not_that(path, known, other)
    problem = content.problem or problems.invalid_lines(path, reading.counts, whole=whole)
    return Heard(known, reading, sha256, problem)


def _touched(work: Work, origin: ArchiveMetadata, run: ParseOptions) -> ArchiveReport:
    """Note that the same bytes have another time, so that the next run need not look again."""
    seen = work.seen
    _, fixed = run.group_for(origin, origin.cwd, origin.format, origin.archive)
    told = run.tells(origin) is not None
    now = replace(
        origin,
        size=seen.size,
        mtime_ns=seen.mtime_ns,
        group_is_explicit=fixed,
        format_is_explicit=told,
    )
    if not run.dry_run:
        _write(work, pl.read_parquet(work.held.files[-1]), now, run)
    return unchanged(seen, origin)


def _table(work: Work, cleaned: Cleaned, run: ParseOptions) -> tuple[pa.Table, ArchiveMetadata]:
    """Return an archive's turns, and what their file says of itself."""
    heard, said = cleaned.heard, cleaned.redacted
    seen, before, known = work.seen, work.held.metadata, heard.known
    archive = absolute_path_text(seen.path)
    group, fixed = run.group_for(before, said.cwd, known.name, archive)
    origin = ArchiveMetadata(
        archive=archive,
        size=seen.size,
        mtime_ns=seen.mtime_ns,
        sha256=heard.sha256,
        format=known.name,
        reader_version=known.version,
        redactor_version=run.redactor_version,
        group=group,
        group_is_explicit=fixed,
        counts=heard.reading.counts.as_mapping(),
        cwd=said.cwd,
        format_is_explicit=run.tells(before) is not None,
    )
    return rows(said, known.name, group, archive), origin


def _write(
    work: Work, table: pl.DataFrame | pa.Table, origin: ArchiveMetadata, run: ParseOptions
) -> None:
    held = work.held
    run.lake.write_turns(table, origin, digest=held.digest, previous_files=held.files)


def _version(origin: ArchiveMetadata) -> int | None:
    """Return the version of the format's reader as it is now."""
    known = formats.by_name(origin.format)
    return known.version if known is not None else None
