"""The files of an export: written completely or not at all, never over files of others.

A folder has a manifest with the digests of its files. It is written before the first file, with the
digests of what is there and of what will be, and again after the last one: a run that was killed
can be repeated. A file that somebody changed is not an exported one any more.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import IO

import msgspec

from turnetl.base.disks import sync_folder
from turnetl.base.errors import BadUsage, Fatal
from turnetl.base.private_files import create_folder
from turnetl.lake.parallel import in_parallel
from turnetl.lake.temporary import replace_file

MANIFEST = "turnetl-export.json"
_MARK_BYTES = 512


class ExportManifest(msgspec.Struct, frozen=True):
    """The manifest of a folder."""

    turnetl_export: int
    """Version of the manifest."""
    format: str
    files: dict[str, list[str]]
    """SHA-256 of each file, by its path with slashes; two while a run replaces it."""
    machine: str = ""
    """The machine whose lake was exported; empty if it was not told."""


_VERSION = 1
_NAME = re.compile(
    r"index\.md|(?:sessions|entities)/[a-z0-9-]+\.md|(?:entities|facts)\.parquet"
    r"|turns/[a-z0-9_]+/[0-9a-f]+\.parquet|trajectories/[a-z0-9-]+\.json"
)
"""The files that an export in a folder has: another name in a manifest is not of turnetl."""


WRITERS = 8
"""Threads that write files concurrently: most of the time is waiting for the disk to sync."""


@dataclass(frozen=True, slots=True)
class WrittenFiles:
    """What a write did."""

    files: int
    bytes: int
    changed: int
    """Files that were written, because they were missing or different."""
    removed: int
    """Files of an earlier export that are not of this one."""


def write_folder(
    folder: Path, format_name: str, files: Mapping[str, bytes], machine: str = ""
) -> WrittenFiles:
    """Write files by path into a folder that is new, empty, or of an earlier export."""
    digests = {name: sha256(data).hexdigest() for name, data in files.items()}
    try:
        before = _read_manifest(folder)
        present = _present(folder, before.files, digests)
        written = ExportManifest(
            _VERSION, format_name, {name: [digests[name]] for name in sorted(digests)}, machine
        )
        if present == digests and before == written:
            return WrittenFiles(len(files), _size(files), 0, 0)
        create_folder(folder)
        planned = {
            name: [digest for digest in (present.get(name), digests.get(name)) if digest]
            for name in sorted({*present, *digests})
        }
        _write_manifest(folder, msgspec.structs.replace(written, files=planned))
        changed = [name for name in files if present.get(name) != digests[name]]
        in_parallel(
            lambda name: replace_file(folder / name, partial(_write_data, files[name]), folder),
            changed,
            WRITERS,
        )
        for parent in sorted({(folder / name).parent for name in changed}):
            sync_folder(parent)
        removed = [name for name in present if name not in files]
        for name in removed:
            (folder / name).unlink(missing_ok=True)
        _write_manifest(folder, written)
    except OSError as error:
        raise _write_error(folder, error) from error
    return WrittenFiles(len(files), _size(files), len(changed), len(removed))


def write_file(path: Path, mark: bytes, data: bytes) -> WrittenFiles:
    """Write an export that is one file, which begins with `mark`."""
    try:
        if path.exists() or path.is_symlink():
            _check_is_export(path, mark)
            if path.read_bytes() == data:
                return WrittenFiles(1, len(data), 0, 0)
        create_folder(path.parent)
        _write(path, data, path.parent)
    except OSError as error:
        raise _write_error(path, error) from error
    return WrittenFiles(1, len(data), 1, 0)


def read_manifest(folder: Path) -> ExportManifest | None:
    """Return the manifest of a folder; None if it is no export."""
    try:
        manifest = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=ExportManifest)
    except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
        return None
    return manifest if manifest.turnetl_export == _VERSION else None


def _read_manifest(folder: Path) -> ExportManifest:
    """Return the manifest of a folder that may be written; one without files if it is new."""
    if folder.exists() and not folder.is_dir():
        raise BadUsage(f"`{folder}` is a file: name a folder with --output")
    manifest = read_manifest(folder)
    if manifest is not None:
        _check_names(folder, manifest)
        return manifest
    if folder.is_dir() and any(folder.iterdir()):
        raise BadUsage(
            f"`{folder}` holds files that turnetl did not export: name a new or an empty folder "
            "with --output"
        )
    return ExportManifest(_VERSION, "", {})


def _check_names(folder: Path, manifest: ExportManifest) -> None:
    """Check that a manifest, which anybody can write, names files of an export only."""
    for name in manifest.files:
        if not _NAME.fullmatch(name):
            raise BadUsage(
                f"`{folder / MANIFEST}` names `{name}`, which no export writes: name a new or an "
                "empty folder with --output"
            )


def _check_folders(folder: Path, name: str) -> None:
    """Check that no link leads from the folder of the export to another one."""
    for parent in Path(name).parents:
        if (folder / parent).is_symlink() and parent != Path():
            raise BadUsage(
                f"`{folder / parent}` is a link: remove it, or name another folder with --output"
            )


def _present(
    folder: Path, known: Mapping[str, list[str]], new: Mapping[str, str]
) -> dict[str, str]:
    """Return the digests of the files of an earlier export that are in the folder."""
    present = {}
    for name in sorted({*known, *new}):
        _check_folders(folder, name)
        path = folder / name
        if not path.exists() and not path.is_symlink():
            continue
        digest = "" if path.is_symlink() else sha256(path.read_bytes()).hexdigest()
        if digest not in known.get(name, ()):
            raise BadUsage(
                f"`{path}` was not exported, or was changed since: move it, or name another folder "
                "with --output"
            )
        present[name] = digest
    return present


def _check_is_export(path: Path, mark: bytes) -> None:
    is_own = path.is_file() and not path.is_symlink()
    if is_own:
        with path.open("rb") as file:
            is_own = file.read(_MARK_BYTES).startswith(mark)
    if not is_own:
        raise BadUsage(
            f"`{path}` exists and is no export in this format: name another file with --output"
        )


def _write_manifest(folder: Path, manifest: ExportManifest) -> None:
    data = msgspec.json.format(msgspec.json.encode(manifest))
    _write(folder / MANIFEST, data, folder)


def _write(path: Path, data: bytes, root: Path) -> None:
    replace_file(path, partial(_write_data, data), root)
    sync_folder(path.parent)


def _write_data(data: bytes, file: IO[bytes]) -> None:
    file.write(data)


def _size(files: Mapping[str, bytes]) -> int:
    return sum(map(len, files.values()))


def _write_error(path: Path, error: OSError) -> Fatal:
    return Fatal(
        f"`{error.filename or path}` cannot be written ({error.strerror}): check its permissions "
        "and the free disk space, or name another place with --output"
    )
