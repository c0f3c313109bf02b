"""Archives to turns files: each is read if it changed, redacted and written.

An archive with the size and modification time of its turns file is not opened, nor an object with
its size and entity tag; one with the same content is not parsed. An archive without a turns file
(unknown format) is opened in every run. An archive that cannot be read does not affect the others.
"""

from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from turnetl.base.errors import BadArchive
from turnetl.formats import Format
from turnetl.lake import ArchiveMetadata, Lake, absolute_path_text, archive_digest, archive_digests
from turnetl.lake.forgotten import read_forgotten
from turnetl.parsing import problems, sources
from turnetl.parsing.archive_files import LOCAL, ArchiveFiles
from turnetl.parsing.archive_paths import is_redacted, path_texts, redacted_path
from turnetl.parsing.grouping import Grouping
from turnetl.parsing.jobs import ArchiveJob, NumberedJob, ParseOptions, StoredArchive, batches
from turnetl.parsing.parse_report import ArchiveReport, Outcome, ParseReport, Problem
from turnetl.parsing.person_names import path_without_persons, users_in
from turnetl.parsing.sources import ArchiveStat, ParseLimits
from turnetl.redact import Redactor
from turnetl.redact.port import is_plain


def parse_archives(
    paths: Sequence[Path],
    lake: Lake,
    *,
    redactor: Redactor,
    grouping: Grouping = Grouping(),  # noqa: B008 - a frozen value
    explicit_format: Format | None = None,
    jobs: int = 1,
    dry_run: bool = False,
    reread: bool = False,
    limits: ParseLimits = ParseLimits(),  # noqa: B008 - a frozen value
    files: ArchiveFiles = LOCAL,
    progress: Callable[[int, int], None] | None = None,
) -> ParseReport:
    """Bring the turns files of these archives up to date, with these `ParseOptions`.

    Args:
        paths: archives, as `expand` returns them. Two paths to one archive give one report.
        explicit_format: the format of all archives; None: it is detected from their content.
        jobs: maximum number of parallel processes: one for each `ParseLimits.bytes_per_process`.
            The result does not depend on it.
        progress: called after each archive with the number of finished archives and of all.

    Raises:
        Fatal: the lake cannot be written, or has another schema version.
        ArchivesBusy: the object store of the archives did not respond.
    """
    lake.check_version()
    options = ParseOptions(
        lake=lake,
        redactor=redactor,
        redactor_version=redactor.version,
        grouping=grouping,
        explicit_format=explicit_format.name if explicit_format is not None else None,
        limits=limits,
        dry_run=dry_run,
        reread=reread,
        files=files,
        forgotten=read_forgotten(lake.files),
    )
    removed = 0 if dry_run else lake.remove_abandoned()
    path_by_digest = dict(zip(archive_digests(paths), paths, strict=True))
    stored = _stored_archives(path_by_digest, lake, dry_run=dry_run)
    files.look_up(paths)
    states = sources.stat_archives([path_by_digest[archive.digest] for archive in stored], files)
    plan = [
        _report_or_job(path_by_digest[archive.digest], archive, state, options)
        for archive, state in zip(stored, states, strict=True)
    ]
    try:
        reports = _collect_reports(plan, options, jobs, progress)
        if not dry_run:
            reports = _forgetting_runs(plan, reports, options, jobs)
    finally:
        if not dry_run:
            lake.sync_turns()
    reports = redacted_reports(reports, redactor)
    return ParseReport(reports, dry_run=dry_run, removed_temporary_files=removed)


def _stored_archives(
    path_by_digest: Mapping[str, Path], lake: Lake, *, dry_run: bool
) -> list[StoredArchive]:
    """Return the turns files of each archive. Opens no other file.

    A run that was killed while an archive changed groups left two files: the older one is deleted.
    """
    files_by_digest: dict[str, list[Path]] = {digest: [] for digest in path_by_digest}
    paths = lake.turn_paths()
    for path in paths:
        if path.stem in files_by_digest:
            files_by_digest[path.stem].append(path)
    for files in [files for files in files_by_digest.values() if len(files) > 1]:
        lake.files.fetch(files)
        files.sort(key=lambda path: path.stat().st_mtime_ns)
        while len(files) > 1 and not dry_run:
            lake.files.delete(files.pop(0))
    newest = [files[-1] for files in files_by_digest.values() if files]
    metadata = dict(zip(newest, lake.archives_metadata(newest), strict=True))
    names = {path.stem for path in paths}
    return [
        _stored_archive(path_by_digest[digest], digest, files, metadata, names)
        for digest, files in files_by_digest.items()
    ]


def _stored_archive(
    archive: Path,
    digest: str,
    files: Sequence[Path],
    metadata: Mapping[Path, ArchiveMetadata | None],
    names: Collection[str],
) -> StoredArchive:
    if not files:
        return StoredArchive(digest)
    of_file = metadata[files[-1]]
    is_misplaced = of_file is not None and _is_misplaced(of_file, archive, files[-1], names)
    own = None if is_misplaced else of_file
    return StoredArchive(digest, tuple(files), is_misplaced=is_misplaced, metadata=own)


def _is_misplaced(
    metadata: ArchiveMetadata, archive: Path, file: Path, names: Collection[str]
) -> bool:
    """Return whether a turns file has the place of that of the archive, and is another one.

    Only what is certain counts: a link by which the archive was found may be gone.
    """
    if metadata.group != file.parent.name:
        return True
    known = metadata.archive
    if is_redacted(known) or metadata.machine or known == absolute_path_text(archive):
        return False
    own = archive_digest(Path(known))
    return own != file.stem and (own in names or Path(known).exists())


def _report_or_job(
    path: Path, stored: StoredArchive, stat: ArchiveStat | BadArchive, options: ParseOptions
) -> ArchiveReport | ArchiveJob:
    """Return the report on an archive that need not be opened, else its job."""
    if isinstance(stat, BadArchive):
        return problems.skipped_report(path, stat)
    if stored.metadata is not None and _is_unchanged(stored.metadata, stat, options):
        return options.report(stored.metadata, path, Outcome.UNCHANGED)
    return ArchiveJob(stat, stored)


def _is_unchanged(metadata: ArchiveMetadata, stat: ArchiveStat, options: ParseOptions) -> bool:
    is_same = not options.reread and stat.is_state_of(metadata)
    return is_same and options.gives_same_metadata(metadata, stat.path)


def _collect_reports(
    plan: Sequence[ArchiveReport | ArchiveJob],
    options: ParseOptions,
    jobs: int,
    progress: Callable[[int, int], None] | None,
) -> tuple[ArchiveReport, ...]:
    reports: dict[int, ArchiveReport] = {}
    # `closing`, so that an exception here stops the worker processes immediately.
    with closing(_reports(plan, options, jobs)) as results:
        for position, report in results:
            reports[position] = report
            if progress is not None:
                progress(len(reports), len(plan))
    return tuple(reports[position] for position in sorted(reports))


def _forgetting_runs(
    plan: Sequence[ArchiveReport | ArchiveJob],
    reports: tuple[ArchiveReport, ...],
    options: ParseOptions,
    jobs: int,
) -> tuple[ArchiveReport, ...]:
    """Forget the runs for forgotten turns that archives name, and then parse these archives.

    They are not written before, so that after a kill they are read again.
    """
    while keys := [(one.group, key) for one in reports if one.group for key in one.forgotten_runs]:
        from turnetl.parsing.forgetting import forget_runs  # noqa: PLC0415 - only then

        forgotten = replace(forget_runs(options.lake, keys), is_complete=True)
        items = [
            item if report.forgotten_runs else report
            for item, report in zip(plan, reports, strict=True)
        ]
        reports = _collect_reports(items, replace(options, forgotten=forgotten), jobs, None)
    return reports


def _reports(
    plan: Sequence[ArchiveReport | ArchiveJob], options: ParseOptions, jobs: int
) -> Generator[tuple[int, ArchiveReport], None, None]:
    to_parse: list[NumberedJob] = []
    for position, item in enumerate(plan):
        if isinstance(item, ArchiveJob):
            to_parse.append((position, item))
        else:
            yield position, item
    if to_parse:
        yield from _parsed(to_parse, options, jobs)


def _parsed(
    to_parse: Sequence[NumberedJob], options: ParseOptions, jobs: int
) -> Iterator[tuple[int, ArchiveReport]]:
    cost = sum(job.cost for _, job in to_parse)
    processes = min(jobs, cost // options.limits.bytes_per_process)
    if processes > 1:
        from turnetl.parsing.workers import parse_in_processes  # noqa: PLC0415 - only to parse

        yield from parse_in_processes(to_parse, options, processes)
    else:
        from turnetl.parsing.batches import parse_batch  # noqa: PLC0415 - only to parse

        for batch in batches(to_parse):
            reports = parse_batch([job for _, job in batch], options)
            yield from zip((position for position, _ in batch), reports, strict=True)


def redacted_problems(problems: Sequence[Problem], redactor: Redactor) -> tuple[Problem, ...]:
    """Return the problems with their paths redacted, in the messages too, in order."""
    if not redactor.redacts_persons and all(is_plain(problem.path) for problem in problems):
        return tuple(problems)
    texts = [path_texts(problem.path) for problem in problems]
    redacted = redactor.redact_many(texts)
    return tuple(
        problem.of(_redacted(problem.path, dict(zip(before, after.texts, strict=True)), redactor))
        for problem, before, after in zip(problems, texts, redacted, strict=True)
    )


def redacted_reports(
    reports: Sequence[ArchiveReport], redactor: Redactor
) -> tuple[ArchiveReport, ...]:
    """Return the reports in order; those on skipped archives are redacted, as the others were."""
    skipped = {
        position: report.problem
        for position, report in enumerate(reports)
        if report.format is None and report.problem is not None
    }
    redacted = dict(zip(skipped, redacted_problems([*skipped.values()], redactor), strict=True))
    return tuple(
        replace(report, archive=redacted[position].path, problem=redacted[position])
        if position in redacted
        else report
        for position, report in enumerate(reports)
    )


def _redacted(path: str, redacted: dict[str, str], redactor: Redactor) -> str:
    name = redacted_path(path, redacted)
    if not redactor.redacts_persons:
        return name
    users = users_in([absolute_path_text(Path(path))])
    return path_without_persons(name, users, redactor.person_placeholder)
