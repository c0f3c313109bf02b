"""Checks of the turns files of another lake: what their metadata say becomes names here."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import polars as pl

from turnetl.base import schema
from turnetl.base.errors import BadUsage, Fatal
from turnetl.base.model import SubagentUsage
from turnetl.formats.base import ParseCounts
from turnetl.lake import ArchiveMetadata, Lake, TurnFile
from turnetl.lake.manifests import metadata_or_none
from turnetl.transfer.output import read_manifest

MACHINE = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?")
"""The name of a machine."""
_GROUP = re.compile("[a-z0-9](?:[a-z0-9_]{0,126}[a-z0-9])?")
"""The group ids that turnetl makes, those of migrations included."""
_FORMAT = re.compile("[a-z0-9][a-z0-9_-]{0,63}")
_DIGEST = re.compile("[0-9a-f]{32}")
_NOBODY = "0" * 32
_MANY = 2**50
"""More tokens than any archive has; the sums of all archives fit into 64 bits."""


def check_lakes(source: Lake, lake: Lake) -> None:
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


def machine_of(source: Lake, given: str | None) -> str:
    """Return the name of the machine of another lake: the given one, or that of an export.

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


def problem_of_rows(file: TurnFile, rows: pl.DataFrame) -> str | None:
    """Return why rows cannot be those of the turns file; None: they can."""
    if (rows["group_id"] != file.metadata.group).any():
        return "it has turns of another group"
    return None


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
        and all(map(_is_count, _counts(one)))
        for one in metadata.subagent_usage or ()
    )


def _counts(usage: SubagentUsage) -> Iterator[int | None]:
    yield from (usage.input_tokens, usage.output_tokens)
    yield from (usage.cache_write_tokens, usage.cache_read_tokens, usage.reasoning_tokens)
    for _, *counts in usage.messages:
        yield from counts


def _is_count(value: int | None) -> bool:
    return value is None or 0 <= value < _MANY


class _Version(msgspec.Struct):
    schema: int | str = 0


def check_versions(paths: Sequence[Path]) -> None:
    """Check that this turnetl reads all files.

    Raises:
        Fatal: it does not; says which turnetl is too old.
    """
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
