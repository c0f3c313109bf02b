"""Turns files of another machine's lake, or of a Parquet export, checked and added to a lake.

An imported file has a name of its own, made of the machine and the name of the original: a parse of
this machine's archives never replaces it. Its metadata name the machine, and `archive` begins with
it: `laptop:/home/dev/.claude/projects/…`. A turn that archives of this machine hold too is a copy,
as one in two archives of one machine is.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import polars as pl

from turnetl import wiring
from turnetl.base import ids, schema
from turnetl.base.batched import grouped
from turnetl.base.errors import BadUsage, Fatal, TableUnusable
from turnetl.base.model import GroupId, MessageCounts, SubagentUsage
from turnetl.base.object_url import path_text
from turnetl.base.progress import Progress, ProgressUpdate, ignore_progress
from turnetl.formats.kit.usage import Tokens, greatest, place_of, usage_of_messages
from turnetl.formats.port import ParseCounts
from turnetl.lake import ArchiveMetadata, Lake, TurnFile, is_object
from turnetl.lake.forgotten import ForgottenTurns, read_forgotten
from turnetl.lake.manifests import metadata_or_none
from turnetl.lake.parallel import in_parallel
from turnetl.lake.paths import TURNS
from turnetl.parsing.archive_paths import local_path
from turnetl.parsing.forgetting import rows_not_forgotten
from turnetl.parsing.redaction import with_models
from turnetl.redact import Redactor
from turnetl.settings import Settings
from turnetl.transfer.output import WRITERS, read_manifest
from turnetl.transfer.redaction import BATCH_FILES, RedactedNames, redacted_models, redacted_tables
from turnetl.transfer.transfer_report import ImportedFile, ImportOutcome, ImportReport


def import_folder(
    source: Path,
    settings: Settings,
    *,
    machine: str | None = None,
    dry_run: bool = False,
    progress: Progress = ignore_progress,
) -> ImportReport:
    """Add the turns of another lake, or of a Parquet export, to the lake of the settings."""
    if is_object(source):
        raise BadUsage(
            f"`{path_text(source)}` is a URL, and lakes are imported from folders: copy it to this "
            "machine and name the copy"
        )
    return import_lake(
        wiring.lake_in(source),
        wiring.lake(settings),
        machine,
        redactor=lambda: wiring.redactor(settings, stores=not dry_run),
        dry_run=dry_run,
        progress=lambda done, total: progress(ProgressUpdate("import", "archives", done, total)),
    )


def import_lake(
    source: Lake,
    lake: Lake,
    machine: str | None,
    *,
    redactor: Callable[[], Redactor],
    dry_run: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> ImportReport:
    """Add the turns files of another lake; those that are there as they are stay.

    Args:
        redactor: returns what removes secrets from all texts before any is written; called when it
            is certain that there is something to import.
    """
    check_lakes(source, lake)
    name = machine_of(source, machine)
    paths = source.turn_paths()
    source.files.fetch(paths)
    inside = [path for path in paths if is_within(path, source)]
    check_versions(inside)
    lake.check_version()
    metadata = zip(inside, source.archives_metadata(inside), strict=True)
    files = [TurnFile(path, one) for path, one in metadata if one is not None]
    by_name = grouped((path.name, path) for path in lake.turn_paths())
    run = _Import(source, lake, name, redactor(), read_forgotten(lake.files), by_name, dry_run)
    imported = {path: _outside(path) for path in set(paths).difference(inside)}
    try:
        for start in range(0, len(files), BATCH_FILES):
            batch = files[start : start + BATCH_FILES]
            done = run.import_files(batch)
            imported |= {file.path: one for file, one in zip(batch, done, strict=True)}
            if progress is not None:
                progress(start + len(batch), len(files))
    finally:
        if not dry_run:
            lake.sync_turns()
    foreign = len(inside) - len(files)
    persons = run.redactor.redacts_persons
    by_path = tuple(imported[path] for path in sorted(imported))
    return ImportReport(source.root, name, by_path, foreign, dry_run, persons)


@dataclass(frozen=True, slots=True)
class _RemainingRows:
    """What is imported of a turns file."""

    rows: pl.DataFrame
    forgotten: int
    """Turns that are left out."""


@dataclass(frozen=True, slots=True)
class _FileImport:
    """What is written of a turns file."""

    path: Path
    """Of the imported file."""
    rows: pl.DataFrame
    metadata: ArchiveMetadata
    stored: ArchiveMetadata | None
    """Of the file of an earlier import."""
    elsewhere: Mapping[Path, ArchiveMetadata]
    """Earlier files of the same archive in other groups."""
    redactions: int
    forgotten: int
    """Turns that are left out."""


@dataclass(frozen=True, slots=True)
class _Import:
    source: Lake
    lake: Lake
    machine: str
    redactor: Redactor
    forgotten: ForgottenTurns
    stored: Mapping[str, Sequence[Path]]
    """The turns files of the lake before the import, by name."""
    dry_run: bool

    def import_files(self, files: Sequence[TurnFile]) -> list[ImportedFile]:
        """Import turns files in their order; one that is damaged is reported and left out."""
        names = RedactedNames.of(files, self.redactor, keeps_machines=True)
        files = [TurnFile(file.path, names.replaced(file.metadata)) for file in files]
        read = [self._read(file) for file in files]
        rows = [one.rows for one in read if isinstance(one, _RemainingRows)]
        clean = iter(redacted_tables(rows, self.redactor))
        imports = [
            self._import_of(file, one, *next(clean))
            if isinstance(one, _RemainingRows)
            else self._left_out(file, one)
            for file, one in zip(files, read, strict=True)
        ]
        # Files of one archive in two groups replace each other: only one after the other.
        is_unique = len({file.path.name for file in files}) == len(files)
        return in_parallel(self._store, imports, WRITERS if is_unique else 1)

    def _read(self, file: TurnFile) -> _RemainingRows | str:
        """Return the rows that are not forgotten, or why the file is damaged."""
        problem = problem_of(file)
        if problem is None:
            try:
                rows = self.source.read_turns_file(file.path)
            except TableUnusable:
                return _damaged(file.path)
            if (rows["group_id"] != file.metadata.group).any():
                problem = "it has turns of another group"
        if problem is not None:
            return f"`{file.path}` is not a turns file of a lake: {problem}"
        kept = self._not_forgotten(rows)
        return _RemainingRows(kept, _turn_count(rows) - _turn_count(kept))

    def _not_forgotten(self, rows: pl.DataFrame) -> pl.DataFrame:
        kept = rows_not_forgotten(rows, self.forgotten)
        return rows.clear() if kept is None else kept

    def _import_of(
        self, file: TurnFile, read: _RemainingRows, rows: pl.DataFrame, redactions: int
    ) -> _FileImport | ImportedFile:
        """Return what to write of a turns file, or that it is left out."""
        path = self._target(file)
        elsewhere = self._elsewhere(path, self._machine(file))
        stored = self.lake.archive_metadata(path) if path.exists() else None
        if stored is not None and stored.machine != self._machine(file):
            of = f"machine `{stored.machine}`" if stored.machine else "an archive of this machine"
            return self._left_out(file, f"`{path}` has the turns of {of}: it is not replaced")
        try:
            missing = missing_rows(rows, file.metadata, path, stored, self.lake)
        except TableUnusable:
            return self._left_out(file, _damaged(path))
        if not missing.is_empty():
            archive = file.metadata.archive
            rows, redactions = redacted_together(read.rows, missing, archive, self.redactor)
        # A parse, too, compares ids of sessions with those of forgotten ones after their redaction.
        kept = self._not_forgotten(rows)
        forgotten = read.forgotten + _turn_count(rows) - _turn_count(kept)
        name = self._name(file)
        kept = kept.with_columns(archive=pl.lit(name))
        metadata = self._metadata(file, name, kept, stored)
        return _FileImport(path, kept, metadata, stored, elsewhere, redactions, forgotten)

    def _store(self, one: _FileImport | ImportedFile) -> ImportedFile:
        """Write the rows that the lake will have of a file, if they are not there as they are."""
        if isinstance(one, ImportedFile):
            return one
        before = [found for found in (one.stored, *one.elsewhere.values()) if found is not None]
        outcome = outcome_of(before, one.metadata)
        if outcome is not ImportOutcome.UNCHANGED and not self.dry_run:
            self.lake.write_turns(
                one.rows,
                one.metadata,
                digest=one.path.stem,
                previous_files=one.elsewhere,
                may_replace=lambda current: current == one.stored,
            )
        turns = _turn_count(one.rows)
        added = turns - sum(found.turns for found in before)
        name, group = one.metadata.archive, one.metadata.group
        done = ImportedFile(name, group, outcome, turns, added)
        return replace(done, redactions=one.redactions, forgotten=one.forgotten)

    def _elsewhere(self, path: Path, machine: str) -> dict[Path, ArchiveMetadata]:
        """Return the earlier files of the same archive: the other machine changed its group."""
        others = [other for other in self.stored.get(path.name, ()) if other != path]
        self.lake.files.fetch([path, *others])
        found = {other: self.lake.archive_metadata(other) for other in others if other.exists()}
        return {other: one for other, one in found.items() if one and one.machine == machine}

    def _left_out(self, file: TurnFile, problem: str) -> ImportedFile:
        return ImportedFile(
            self._name(file), GroupId(file.path.parent.name), ImportOutcome.DAMAGED, 0, 0, problem
        )

    def _machine(self, file: TurnFile) -> str:
        """Return the machine of the archive, which the other lake may have imported itself."""
        return file.metadata.machine or self.machine

    def _name(self, file: TurnFile) -> str:
        archive = file.metadata.archive
        return archive if file.metadata.machine else f"{self.machine}:{archive}"

    def _target(self, file: TurnFile) -> Path:
        """Return the path of the imported file: no archive of this machine has its name."""
        digest = ids.digest("machine", self._machine(file), original_digest(file))
        return self.lake.root / TURNS / file.metadata.group / f"{digest}.parquet"

    def _metadata(
        self, file: TurnFile, name: str, rows: pl.DataFrame, stored: ArchiveMetadata | None
    ) -> ArchiveMetadata:
        original = file.metadata
        return replace(
            original,
            archive=name,
            machine=self._machine(file),
            original_digest=original_digest(file),
            sha256=rows_digest(rows),
            redactor_version=self.redactor.version,
            counts={**original.counts, "turns": _turn_count(rows)},
            subagent_usage=merged_usage(original, stored, self.redactor),
            retained_turns=0,
            retained_digest="",
        )


def _turn_count(rows: pl.DataFrame) -> int:
    """Return the number of turns: a run of a subagent is none."""
    return rows.filter(schema.IS_TURN).height


def _outside(path: Path) -> ImportedFile:
    """Return that a file of the other lake is a link to a file of something else."""
    problem = f"`{path}` is no file, or a link to one outside the lake: copy the file itself"
    group = GroupId(path.parent.name)
    return ImportedFile(path_text(path), group, ImportOutcome.DAMAGED, 0, 0, problem)


def _damaged(path: Path) -> str:
    return f"`{path}` is damaged: restore it from a copy, or move it away, and import again"


MACHINE = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?")
_GROUP = re.compile("[a-z0-9](?:[a-z0-9_]{0,126}[a-z0-9])?")
"""The group ids that turnetl makes, those of migrations included."""
_FORMAT = re.compile("[a-z0-9][a-z0-9_-]{0,63}")
_DIGEST = re.compile("[0-9a-f]{32}")
_NOBODY = "0" * 32
_MANY = 2**50
"""More tokens than any archive has; the sums of all archives fit into 64 bits."""


def check_lakes(source: Lake, lake: Lake) -> None:
    source.files.check()
    if not source.turn_paths():
        raise BadUsage(
            f"`{source.root}` holds no turns: name a lake, which has a folder `turns`, or a folder "
            "that `turnetl export --format parquet` wrote"
        )
    if source.root.resolve() == lake.root.resolve():
        raise BadUsage(f"`{source.root}` is the lake itself: name another one with --lake")


def machine_of(source: Lake, given: str | None) -> str:
    if given is None:
        try:
            manifest = read_manifest(source.root)
        except OSError as error:
            raise Fatal(
                f"`{source.root}` cannot be read ({error.strerror}): name a folder that `turnetl "
                "export --format parquet` wrote, and that you may read"
            ) from error
        given = manifest.machine if manifest is not None else ""
    if not given:
        raise BadUsage(
            f"`{source.root}` does not say which machine it is of: name the machine with "
            "--machine, such as `--machine laptop`"
        )
    name = given.strip().lower()
    if not MACHINE.fullmatch(name):
        raise BadUsage(
            f"`{given}` cannot name a machine: use letters, digits, dots, hyphens and underscores"
        )
    return name


def is_within(path: Path, lake: Lake) -> bool:
    """Return whether a path leads to a file in the folder of a lake, also if it is a link."""
    real = path.resolve()
    return real.is_relative_to(lake.root.resolve()) and real.is_file()


def problem_of(file: TurnFile) -> str | None:
    """Return why a turns file cannot be one that turnetl wrote; None: it can.

    Nothing in it that becomes a path or a name is used before this check.
    """
    metadata, folder = file.metadata, file.path.parent.name
    machine, archive = metadata.machine, metadata.archive
    checks = [
        (_GROUP.fullmatch(metadata.group), f"`{metadata.group}` is no name of a group"),
        (metadata.group == folder, f"its group, `{metadata.group}`, is not that of its folder"),
        (_DIGEST.fullmatch(file.path.stem), "its name is not the digest of an archive"),
        (_DIGEST.fullmatch(original_digest(file)), "its digest is invalid"),
        (MACHINE.fullmatch(machine or "x"), f"`{machine}` cannot name a machine"),
        (not machine or archive.startswith(f"{machine}:"), "its archive is not of its machine"),
        (archive, "it does not name its archive"),
        (_FORMAT.fullmatch(metadata.format), f"`{metadata.format}` is no format"),
        (_has_counts(metadata), "its counts are not those of an archive"),
        (_has_usage(metadata), "its tokens of subagents are not those of an archive"),
    ]
    return next((problem for is_met, problem in checks if not is_met), None)


def original_digest(file: TurnFile) -> str:
    """Return the digest of the archive on the machine that parsed it."""
    return file.metadata.original_digest or file.path.stem


def _has_counts(metadata: ArchiveMetadata) -> bool:
    try:
        counts = ParseCounts.from_mapping(metadata.counts)
    except (KeyError, TypeError, ValueError, AttributeError):
        return False
    numbers = (counts.turns, counts.used, metadata.retained_turns, *counts.skipped.values())
    return all(isinstance(number, int) and number >= 0 for number in numbers)


def _has_usage(metadata: ArchiveMetadata) -> bool:
    return all(
        _DIGEST.fullmatch(one.subagent or _NOBODY)
        and (not one.session or _DIGEST.fullmatch(one.session))
        and (one.started_at is None or one.started_at.tzinfo is not None)
        and all(count is None or 0 <= count < _MANY for count in _counts(one))
        for one in metadata.subagent_usage or ()
    )


def _counts(usage: SubagentUsage) -> Iterator[int | None]:
    yield from (usage.input_tokens, usage.output_tokens)
    yield from (usage.cache_write_tokens, usage.cache_read_tokens, usage.reasoning_tokens)
    for _, *counts in usage.messages:
        yield from counts


class _Version(msgspec.Struct):
    schema: int | str = 0


def check_versions(paths: Sequence[Path]) -> None:
    for path in paths:
        text = metadata_or_none(path)
        try:
            version = int(msgspec.json.decode(text or "{}", type=_Version).schema)
        except (msgspec.DecodeError, ValueError):
            continue
        if text and version > schema.TURNS.version:
            raise Fatal(
                f"`{path}` has version {version} of the turns table, and this turnetl reads "
                f"version {schema.TURNS.version}: update turnetl on this machine"
            )
        if text and version < min(schema.TURNS.later_columns):
            raise Fatal(
                f"`{path}` has version {version} of the turns table, and this turnetl reads "
                f"version {schema.TURNS.version}: update turnetl on the other machine, run "
                "`turnetl parse` there with a new lake, and import that"
            )


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
        return max(one, other, key=lambda usage: usage.input_tokens + usage.output_tokens)
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
