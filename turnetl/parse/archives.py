"""Archives to turn tables: found, read if changed, redacted, written. One bad archive stops none.

An archive whose size and time of change are those of its turns file is not opened; one whose
content is the same is not read. What has no turns file (unknown formats) is looked at every time.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from pathlib import Path

from turnetl.errors import BadArchive
from turnetl.formats.base import Format
from turnetl.lake import ArchiveMetadata, Lake, archive_digests
from turnetl.parse import problems, sources
from turnetl.parse.archive_job import Held, ParseOptions, Work, unchanged
from turnetl.parse.batches import Placed, batches, read
from turnetl.parse.grouping import Grouping
from turnetl.parse.report import ArchiveReport, ParseReport
from turnetl.parse.sources import ParseLimits, Seen
from turnetl.parse.table import Redactor
from turnetl.parse.workers import side_by_side


def parse_archives(
    paths: Sequence[Path],
    lake: Lake,
    *,
    redactor: Redactor,
    grouping: Grouping = Grouping(),  # noqa: B008 - a frozen value
    explicit_format: Format | None = None,
    jobs: int = 1,
    dry_run: bool = False,
    limits: ParseLimits = ParseLimits(),  # noqa: B008 - a frozen value
    progress: Callable[[int, int], None] | None = None,
) -> ParseReport:
    """Bring the turns files of these archives up to date.

    Args:
        paths: archives, as `expand` finds them. One that is named twice is reported once.
        lake: where the turns files are.
        redactor: what cuts the secrets out of all texts before any is written.
        grouping: which group the turns of an archive go to; one that a person named once stays
            until a person names another.
        explicit_format: the format of all archives; None: detected from the content of each.
        jobs: processes that read side by side; the result is the same however many they are.
        dry_run: write nothing, and say what would become of each archive.
        limits: how much is taken on.
        progress: told after each archive how many are done, of how many.

    Raises:
        Stop: the lake cannot be written.
    """
    told = explicit_format.name if explicit_format is not None else None
    run = ParseOptions(lake, redactor, redactor.version, grouping, told, limits, dry_run)
    archive_of = {digest: path for path, digest in zip(paths, archive_digests(paths), strict=True)}
    held = _held(tuple(archive_of), lake, dry_run=dry_run)
    found = [_decided(archive_of[of.digest], of, run) for of in held]
    reports: dict[int, ArchiveReport] = {}
    try:
        # Closed at once, so that no process goes on when we are stopped here.
        with closing(_reports(found, run, jobs)) as done:
            for at, report in done:
                reports[at] = report
                if progress is not None:
                    progress(len(reports), len(found))
    finally:
        if not dry_run:
            lake.sync_turns()
    return ParseReport(tuple(reports[at] for at in sorted(reports)), dry_run=dry_run)


def _held(digests: Sequence[str], lake: Lake, *, dry_run: bool) -> list[Held]:
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
            lake.delete_turns_file(files.pop(0))
    return [_said(digest, found[digest], lake) for digest in digests]


def _said(digest: str, files: Sequence[Path], lake: Lake) -> Held:
    return Held(digest, tuple(files), lake.archive_metadata(files[-1]) if files else None)


def _decided(path: Path, held: Held, run: ParseOptions) -> ArchiveReport | Work:
    """Return what can be said of an archive without opening it, or the work it makes."""
    try:
        seen = sources.look(path)
    except BadArchive as error:
        return problems.refused(path, error)
    if held.metadata is not None and _is_same(held.metadata, seen, run):
        return unchanged(seen, held.metadata)
    return Work(seen, held)


def _is_same(origin: ArchiveMetadata, seen: Seen, run: ParseOptions) -> bool:
    return (seen.size, seen.mtime_ns) == (origin.size, origin.mtime_ns) and run.agrees(origin)


def _reports(
    found: Sequence[ArchiveReport | Work], run: ParseOptions, jobs: int
) -> Generator[tuple[int, ArchiveReport], None, None]:
    """Yield what became of each archive, with its place."""
    works: list[Placed] = []
    for at, one in enumerate(found):
        if isinstance(one, Work):
            works.append((at, one))
        else:
            yield at, one
    if jobs > 1 and sum(work.effort for _, work in works) > run.limits.alone:
        yield from side_by_side(works, run, jobs)
    else:
        for batch in batches(works):
            reports = read([work for _, work in batch], run)
            yield from zip((at for at, _ in batch), reports, strict=True)
