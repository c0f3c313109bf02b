"""Turns files of another machine's lake, or of a Parquet export, added to a lake.

An imported file has a name of its own, made of the machine and the name of the original: a parse of
this machine's archives never replaces it. Its metadata name the machine, and `archive` begins with
it: `laptop:/home/dev/.claude/projects/…`. A turn that archives of this machine hold too is a copy,
as one in two archives of one machine is.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from turnetl.base import ids
from turnetl.base.errors import TableUnusable
from turnetl.base.model import GroupId
from turnetl.base.object_url import path_text
from turnetl.lake import ArchiveMetadata, Lake, TurnFile
from turnetl.lake.forgotten import ForgottenTurns, read_forgotten
from turnetl.lake.parallel import in_parallel
from turnetl.lake.paths import TURNS
from turnetl.parsing.forgotten_turns import rows_not_forgotten
from turnetl.parsing.redaction import with_models
from turnetl.redact import Redactor
from turnetl.transfer.foreign_files import (
    check_lakes,
    check_versions,
    is_within,
    machine_of,
    original_digest,
    problem_of,
    problem_of_rows,
)
from turnetl.transfer.merge import (
    merged_usage,
    missing_rows,
    outcome_of,
    redacted_together,
    rows_digest,
)
from turnetl.transfer.output import WRITERS
from turnetl.transfer.redacted_paths import metadata_paths, redacted_paths, with_paths
from turnetl.transfer.redacted_usage import redacted_models, usage_of
from turnetl.transfer.report import ImportedFile, ImportOutcome, ImportReport
from turnetl.transfer.turn_rows import BATCH_FILES, redacted_tables


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
        source: the other lake, which is only read; also a Parquet export.
        lake: receives the turns files. Its episodes tables and its graph are not changed.
        machine: the name of the other machine; None: as the export says.
        redactor: returns what removes secrets from all texts before any is written; called when it
            is certain that there is something to import.
        dry_run: write nothing.
        progress: called after each batch, with the number of finished files and the total.

    Raises:
        BadUsage: there is no lake, no name of the machine, or it is the same lake.
        Fatal: either lake has another schema version, or the lake cannot be written.
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
    run = _Import(
        source, lake, name, redactor(), read_forgotten(lake.files), _by_name(lake), dry_run
    )
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
    """Rows that are left out."""


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
    """Rows that are left out."""


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
        """Import turns files; return what was done with each, in their order.

        One that is damaged is reported and left out.
        """
        named = metadata_paths(file.metadata for file in files)
        paths = redacted_paths(named, self.redactor, keeps_machines=True)
        models = redacted_models(usage_of(files), self.redactor)
        files = [_with_names(file, paths, models) for file in files]
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
            problem = problem_of_rows(file, rows)
        if problem is not None:
            return f"`{file.path}` is not a turns file of a lake: {problem}"
        kept = self._not_forgotten(rows)
        return _RemainingRows(kept, rows.height - kept.height)

    def _not_forgotten(self, rows: pl.DataFrame) -> pl.DataFrame:
        kept = rows_not_forgotten(rows, self.forgotten)
        return rows.clear() if kept is None else kept

    def _import_of(
        self, file: TurnFile, read: _RemainingRows, rows: pl.DataFrame, redactions: int
    ) -> _FileImport | ImportedFile:
        """Return what to write of a turns file, or that it is left out.

        Args:
            file: of the other lake.
            read: its rows.
            rows: the same, redacted.
            redactions: the number of redactions in them.
        """
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
        forgotten = read.forgotten + rows.height - kept.height
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
        added = one.rows.height - sum(found.turns for found in before)
        name, group, turns = one.metadata.archive, one.metadata.group, one.rows.height
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
        """Return the archive after its machine."""
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
            counts={**original.counts, "turns": rows.height},
            subagent_usage=merged_usage(original, stored, self.redactor),
            retained_turns=0,
            retained_digest="",
        )


def _with_names(file: TurnFile, paths: Mapping[str, str], models: Mapping[str, str]) -> TurnFile:
    """Return a turns file with redacted names in its metadata."""
    usage = with_models(file.metadata.subagent_usage, models)
    metadata = replace(with_paths(file.metadata, paths), subagent_usage=usage)
    return TurnFile(file.path, metadata)


def _by_name(lake: Lake) -> Mapping[str, Sequence[Path]]:
    paths: dict[str, list[Path]] = {}
    for path in lake.turn_paths():
        paths.setdefault(path.name, []).append(path)
    return paths


def _outside(path: Path) -> ImportedFile:
    """Return that a file of the other lake is a link to a file of something else."""
    problem = f"`{path}` is no file, or a link to one outside the lake: copy the file itself"
    group = GroupId(path.parent.name)
    return ImportedFile(path_text(path), group, ImportOutcome.DAMAGED, 0, 0, problem)


def _damaged(path: Path) -> str:
    return f"`{path}` is damaged: restore it from a copy, or move it away, and import again"
