"""Archives to turn tables: found, read if changed, redacted, written. One bad archive stops none.

An archive whose size and time of change are those of its turns file is not opened; one whose
content is the same is not read. What has no turns file (unknown formats) is looked at every time.
"""

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from turnetl import formats
from turnetl.errors import BadArchive
from turnetl.formats.base import Counts, Format
from turnetl.lake import Lake, Origin, archive_digests, placed, shown
from turnetl.model import GroupId
from turnetl.parse.grouping import Grouping
from turnetl.parse.report import ArchiveReport, Outcome, ParseReport, Problem
from turnetl.parse.table import Redacts, redacted, rows


@dataclass(frozen=True, slots=True)
class _Before:
    """What the lake holds of an archive."""

    digest: str
    files: tuple[Path, ...] = ()
    """Its turns files, the newest last: there is one at most, but for a dry run."""
    origin: Origin | None = None
    """What the newest says."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """What all archives of a run are read with."""

    lake: Lake
    redactor: Redacts
    grouping: Grouping
    known: Format | None
    dry_run: bool

    def would_repeat(self, origin: Origin) -> bool:
        """Whether the same bytes would give what they gave then."""
        return (
            self.known in (None, formats.named(origin.format))
            and origin.reader == _reader(origin.format)
            and origin.redactor == self.redactor.version
            and origin.group == self.group(origin, origin.cwd, origin.format, origin.archive)
        )

    def group(self, before: Origin | None, cwd: str | None, name: str, archive: str) -> GroupId:
        """Return the group of an archive; one that a person named once stays."""
        named = self.grouping.named(cwd, name, archive)
        if named is None and before is not None and before.fixed:
            return before.group
        return named or self.grouping.group(cwd, name, archive)


def archives(
    paths: Sequence[Path],
    lake: Lake,
    *,
    redactor: Redacts,
    grouping: Grouping = Grouping(),  # noqa: B008 - a frozen value
    group: GroupId | None = None,
    known: Format | None = None,
    jobs: int = 1,  # noqa: ARG001 - processes are yet to come
    dry_run: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> ParseReport:
    """Bring the turns files of these archives up to date.

    Args:
        paths: archives, as `expand` finds them.
        lake: where the turns files are.
        redactor: what cuts the secrets out of all texts before any is written.
        grouping: which group the turns of an archive go to; one that a person named once stays
            until a person names another.
        group: the same as `Grouping(group)`.
        known: the format of all the archives; None: each is told by its content.
        jobs: processes that read side by side; the result is the same however many they are.
        dry_run: write nothing, and say what would become of each archive.
        progress: told after each archive how many are done, of how many.
    """
    if group is not None:
        grouping = Grouping(group)
    before = _before(archive_digests(paths), lake, dry_run=dry_run)
    run = _Reading(lake, redactor, grouping, known, dry_run)
    reports = []
    for done, (path, held) in enumerate(zip(paths, before, strict=True), 1):
        reports.append(_report(path, run, held))
        if progress is not None:
            progress(done, len(paths))
    if not dry_run:
        lake.sync_turns()
    return ParseReport(tuple(reports), dry_run=dry_run)


def _before(digests: Sequence[str], lake: Lake, *, dry_run: bool) -> list[_Before]:
    """Return what the lake holds of each archive; opens no other file.

    A run that died while an archive changed groups left two: the older one goes.
    """
    found: dict[str, list[Path]] = {digest: [] for digest in digests}
    for path in lake.turn_paths():
        if path.stem in found:
            found[path.stem].append(path)
    for files in [files for files in found.values() if len(files) > 1]:
        files.sort(key=lambda path: path.stat().st_mtime_ns)
        while len(files) > 1 and not dry_run:
            lake.drop(files.pop(0))
    return [_held(digest, found[digest], lake) for digest in digests]


def _held(digest: str, files: Sequence[Path], lake: Lake) -> _Before:
    return _Before(digest, tuple(files), lake.origin(files[-1]) if files else None)


def _report(path: Path, run: _Reading, before: _Before) -> ArchiveReport:
    try:
        return _archive(path, run, before)
    except BadArchive as error:
        outcome = Outcome.UNKNOWN if error.reason == "unknown" else Outcome.UNREADABLE
        problem = Problem(shown(path), None, error.reason, str(error))
        return ArchiveReport(shown(path), outcome, problem=problem)


def _archive(path: Path, run: _Reading, before: _Before) -> ArchiveReport:
    status = _status(path)
    origin = before.origin
    if origin is not None and _same_file(origin, status) and run.would_repeat(origin):
        return _unchanged(path, origin)
    known, data = _bytes(path, status.st_size, run.known)
    sha256 = hashlib.sha256(data).hexdigest()
    if (
        origin is not None
        and (sha256, known.name) == (origin.sha256, origin.format)
        and run.would_repeat(origin)
    ):
        return _unchanged(path, origin)
    reading = known.read(data)
    texts = redacted(reading, run.redactor)
    of = run.group(origin, texts.cwd, known.name, placed(path))
    described = Origin(
        archive=placed(path),
        size=len(data),
        mtime_ns=status.st_mtime_ns,
        sha256=sha256,
        format=known.name,
        reader=known.version,
        redactor=run.redactor.version,
        group=of,
        fixed=run.grouping.named(texts.cwd, known.name, placed(path)) is not None
        or (origin is not None and origin.fixed),
        counts=reading.counts.as_mapping(),
        cwd=texts.cwd,
    )
    if not run.dry_run:
        table = rows(texts, known.name, of, described.archive)
        run.lake.write_turns(table, described, digest=before.digest, elsewhere=before.files)
    outcome = Outcome.NEW if origin is None else Outcome.CHANGED
    problem = _bad_lines(path, reading.counts, whole=data.endswith(b"\n"))
    return ArchiveReport(
        shown(path), outcome, known.name, of, reading.counts, problem, cwd=texts.cwd
    )


def _status(path: Path) -> os.stat_result:
    try:
        return path.stat()
    except OSError as error:
        raise _unreadable(path, error) from error


def _bytes(path: Path, size: int, told: Format | None) -> tuple[Format, bytes]:
    """Return an archive's format and content as far as it was there when we looked.

    What is appended meanwhile changes the size, so the next run reads it.
    """
    try:
        with path.open("rb") as file:
            data = file.read(size)
    except OSError as error:
        raise _unreadable(path, error) from error
    known = told if told is not None and data.strip() else formats.sniff(data)
    if known is None:
        raise _unknown(path, data)
    return known, data


def _same_file(origin: Origin, status: os.stat_result) -> bool:
    return (status.st_size, status.st_mtime_ns) == (origin.size, origin.mtime_ns)


def _reader(name: str) -> int | None:
    """Return the version of the format's reader as it is now."""
    known = formats.named(name)
    return known.version if known is not None else None


def _unchanged(path: Path, origin: Origin) -> ArchiveReport:
    counts = Counts.from_mapping(origin.counts)
    return ArchiveReport(
        shown(path), Outcome.UNCHANGED, origin.format, origin.group, counts, cwd=origin.cwd
    )


def _unreadable(path: Path, error: OSError) -> BadArchive:
    name = shown(path)
    if isinstance(error, FileNotFoundError):
        return BadArchive("missing", f"`{name}` does not exist; check the path.")
    if isinstance(error, IsADirectoryError):
        return BadArchive("folder", f"`{name}` is a folder; name the archives in it.")
    why = error.strerror or str(error)
    return BadArchive("unreadable", f"`{name}` cannot be read ({why}); check its permissions.")


def _unknown(path: Path, data: bytes) -> BadArchive:
    name = shown(path)
    if not data.strip():
        return BadArchive("empty", f"`{name}` is empty; there is nothing to read.")
    return BadArchive(
        "unknown",
        f"`{name}` is in no format that turnetl knows and was left alone; "
        "name only coding-agent archives to be rid of this line.",
    )


def _bad_lines(path: Path, counts: Counts, *, whole: bool) -> Problem | None:
    """Return what to say of lines that are no JSON; `whole`: the last one has its newline."""
    broken = counts.bad_lines - counts.glued_lines
    if not broken:
        return None
    line = counts.first_broken_line
    if line == counts.lines and not whole:
        message = f"`{shown(path)}` line {line} is unfinished; it is read once it is whole."
        return Problem(shown(path), line, "unfinished", message)
    more = f" and {broken - 1} more" if broken > 1 else ""
    message = (
        f"`{shown(path)}` line {line}{more}: not JSON and passed over; the other lines were read. "
        "Mend the line and run again if you need what it held."
    )
    return Problem(shown(path), line, "broken", message)
