"""Turns files of another machine's lake, or of a Parquet export, added to a lake.

An imported file has a name of its own, made of the machine and the name of the original: a parse of
this machine's archives never replaces it. Its metadata name the machine, and `archive` begins with
it: `laptop:/home/dev/.claude/projects/…`. A turn that archives of this machine hold too is a copy,
as one in two archives of one machine is.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import polars as pl

from turnetl import ids, schema
from turnetl.errors import BadUsage, Fatal, TableUnusable
from turnetl.lake import ArchiveMetadata, Lake, TurnFile
from turnetl.lake.forgotten import ForgottenTurns, read_forgotten
from turnetl.lake.manifests import metadata_or_none
from turnetl.lake.paths import TURNS
from turnetl.parsing.forgotten_turns import rows_not_forgotten
from turnetl.redact import Redactor
from turnetl.transfer.output import read_manifest
from turnetl.transfer.report import ImportedFile, ImportOutcome, ImportReport
from turnetl.transfer.turn_rows import BATCH_FILES, redacted_tables

_MACHINE = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?")


class _Version(msgspec.Struct):
    schema: int | str = 0


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
        progress: called after some files with the number of finished files and of all.

    Raises:
        BadUsage: there is no lake, no name of the machine, or it is the same lake.
        Fatal: either lake has another schema version, or the lake cannot be written.
    """
    _check(source, lake)
    name = _machine(source, machine)
    paths = source.turn_paths()
    _check_versions(paths, source)
    lake.check_version()
    files = source.turn_files()
    run = _Import(source, lake, name, redactor(), read_forgotten(lake.files), dry_run)
    imported: list[ImportedFile] = []
    try:
        for start in range(0, len(files), BATCH_FILES):
            imported += run.import_files(files[start : start + BATCH_FILES])
            if progress is not None:
                progress(len(imported), len(files))
    finally:
        if not dry_run:
            lake.sync_turns()
    return ImportReport(source.root, name, tuple(imported), len(paths) - len(files), dry_run)


@dataclass(frozen=True, slots=True)
class _Import:
    source: Lake
    lake: Lake
    machine: str
    redactor: Redactor
    forgotten: ForgottenTurns
    dry_run: bool

    def import_files(self, files: Sequence[TurnFile]) -> Iterator[ImportedFile]:
        """Import turns files; one that is damaged is reported and left out."""
        tables = [self._read(file) for file in files]
        clean = iter(redacted_tables([one for one in tables if one is not None], self.redactor))
        for file, table in zip(files, tables, strict=True):
            if table is None:
                yield self._damaged(file, file.path)
            else:
                yield self._import_file(file, *next(clean))

    def _read(self, file: TurnFile) -> pl.DataFrame | None:
        """Return the rows that are not forgotten; None: the file is damaged."""
        try:
            rows = self.source.read_turns_file(file.path)
        except TableUnusable:
            return None
        kept = rows_not_forgotten(rows, self.forgotten)
        return rows.clear() if kept is None else kept

    def _import_file(self, file: TurnFile, rows: pl.DataFrame, redactions: int) -> ImportedFile:
        path, name = self._target(file), self._name(file)
        try:
            rows = _merged(rows.with_columns(archive=pl.lit(name)), path, self.lake)
        except TableUnusable:
            return self._damaged(file, path)
        metadata = self._metadata(file.metadata, name, rows)
        stored = self.lake.archive_metadata(path) if path.exists() else None
        outcome = _outcome(stored, metadata)
        if outcome is not ImportOutcome.UNCHANGED and not self.dry_run:
            self.lake.write_turns(rows, metadata, digest=path.stem, previous_files=())
        added = rows.height - (0 if stored is None else stored.turns)
        return ImportedFile(name, metadata.group, outcome, rows.height, added, None, redactions)

    def _damaged(self, file: TurnFile, path: Path) -> ImportedFile:
        """Return that a file of either lake cannot be read."""
        problem = f"`{path}` is damaged: restore it from a copy, or delete it, and import again"
        group = file.metadata.group
        return ImportedFile(self._name(file), group, ImportOutcome.DAMAGED, 0, 0, problem)

    def _name(self, file: TurnFile) -> str:
        """Return the archive after its machine, which the other lake may know already."""
        archive = file.metadata.archive
        return archive if file.metadata.machine else f"{self.machine}:{archive}"

    def _target(self, file: TurnFile) -> Path:
        """Return the path of the imported file."""
        digest = file.path.stem
        if not file.metadata.machine:
            digest = ids.digest("machine", self.machine, digest)
        return self.lake.root / TURNS / file.metadata.group / f"{digest}.parquet"

    def _metadata(
        self, original: ArchiveMetadata, name: str, rows: pl.DataFrame
    ) -> ArchiveMetadata:
        return replace(
            original,
            archive=name,
            machine=original.machine or self.machine,
            sha256=ids.digest(*rows["turn_id"], *rows["content_hash"]),
            redactor_version=self.redactor.version,
            counts={**original.counts, "turns": rows.height},
            retained_turns=0,
            retained_digest="",
        )


def _machine(source: Lake, given: str | None) -> str:
    """Return the name of the other machine.

    Raises:
        BadUsage: there is none, or it is not valid.
    """
    if given is None:
        try:
            manifest = read_manifest(source.root)
        except OSError as error:
            raise Fatal(f"`{source.root}` cannot be read ({error.strerror})") from error
        given = manifest.machine if manifest is not None else ""
    if not given:
        raise BadUsage(
            f"`{source.root}` does not say which machine it is of: name the machine with "
            "--machine, such as `--machine laptop`"
        )
    name = given.strip().lower()
    if not _MACHINE.fullmatch(name):
        raise BadUsage(
            f"`{given}` cannot name a machine: use letters, digits, dots, hyphens and underscores"
        )
    return name


def _check(source: Lake, lake: Lake) -> None:
    """Check that there is another lake.

    Raises:
        BadUsage: there is none.
    """
    source.check_root()
    if not source.turn_paths():
        raise BadUsage(
            f"`{source.root}` holds no turns: name a lake, which has a folder `turns`, or a folder "
            "that `turnetl export --format parquet` wrote"
        )
    if source.root.resolve() == lake.root.resolve():
        raise BadUsage(f"`{source.root}` is the lake itself: name another one with --lake")


def _check_versions(paths: list[Path], source: Lake) -> None:
    """Check that this turnetl reads all files.

    Raises:
        Fatal: it does not; says which turnetl is too old.
    """
    source.files.fetch(paths)
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
        if text and version < schema.TURNS.version:
            raise Fatal(
                f"`{path}` has version {version} of the turns table, and this turnetl reads "
                f"version {schema.TURNS.version}: update turnetl on the other machine, run "
                "`turnetl parse` there with a new lake, and import that"
            )


def _merged(rows: pl.DataFrame, path: Path, lake: Lake) -> pl.DataFrame:
    """Return the rows, and those of an earlier import that they lack: of a larger selection."""
    lake.files.fetch([path])
    if not path.exists():
        return rows
    before = lake.read_turns_file(path)
    missing = before.filter(~pl.col("turn_id").is_in(rows["turn_id"].implode()))
    return rows if missing.is_empty() else pl.concat([rows, missing])


def _outcome(stored: ArchiveMetadata | None, new: ArchiveMetadata) -> ImportOutcome:
    if stored is None:
        return ImportOutcome.NEW
    same = (stored.sha256, stored.group) == (new.sha256, new.group)
    return ImportOutcome.UNCHANGED if same else ImportOutcome.CHANGED
