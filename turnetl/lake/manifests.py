"""The manifest of a group, `<root>/manifests/<group>`: the metadata of all of its turns files.

It is derived. An entry counts only with the version of the turns file that is listed now, so a
manifest may be missing, old, damaged, or written by two machines together: what it does not know is
read from the files and recorded. A lake whose files have no version has no manifest.
"""

import logging
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from turnetl.base.errors import Fatal, Retryable
from turnetl.base.private_files import read_whole
from turnetl.lake.files import LakeFiles
from turnetl.lake.parquet import read_metadata

FOLDER = "manifests"
"""Name of the folder in the lake."""
_LAYOUT = 1

log = logging.getLogger(__name__)


class _Manifest(msgspec.Struct, frozen=True, array_like=True):
    layout: int
    files: dict[str, tuple[str, str]]
    """Version and metadata of each turns file, by name."""


class Manifests:
    def __init__(self, files: LakeFiles) -> None:
        self._files = files

    def metadata(self, paths: Sequence[Path]) -> Mapping[Path, str | None]:
        """Return the metadata of turns files, just listed; None for one that cannot be read."""
        versions = {path: self._files.version(path) for path in paths}
        if not any(versions.values()):
            self._files.fetch(paths)
            return {path: metadata_or_none(path) for path in paths}
        folders = sorted({path.parent for path in paths})
        self._files.fetch(map(self._path, folders))
        known: dict[Path, str | None] = {}
        for folder in folders:
            known |= self._of_group(
                folder, {p: v for p, v in versions.items() if p.parent == folder}
            )
        return known

    def update(self, list_paths: Callable[[], Sequence[Path]]) -> None:
        """Bring the manifests of the listed turns files up to date, if the files have versions."""
        if self._files.has_versions:
            self.metadata(list_paths())

    def _of_group(
        self, folder: Path, versions: Mapping[Path, str | None]
    ) -> Mapping[Path, str | None]:
        path = self._path(folder)
        stored = _read(path)
        known: dict[Path, str | None] = {
            file: stored[file.name][1]
            for file, version in versions.items()
            if file.name in stored and stored[file.name][0] == version
        }
        unknown = [file for file in versions if file not in known]
        self._files.fetch(unknown)
        for file in unknown:
            # A file that was replaced after the listing has another version by now.
            known[file] = metadata_or_none(file)
        entries = {
            file.name: (version, text)
            for file, text in known.items()
            if text is not None and (version := self._files.version(file)) is not None
        }
        still_listed = {
            name: entry
            for name, entry in stored.items()
            if self._files.version(folder / name) == entry[0]
        }
        changed = {**still_listed, **entries}
        if changed != stored:
            self._write(path, changed)
        return known

    def _write(self, path: Path, entries: Mapping[str, tuple[str, str]]) -> None:
        """Write a manifest. Nothing depends on it: a failure is logged."""
        manifest = _Manifest(_LAYOUT, dict(sorted(entries.items())))
        data = zlib.compress(msgspec.json.encode(manifest))
        try:
            self._files.replace(path, lambda file: file.write(data))
        except (Fatal, Retryable, OSError) as error:
            log.info("`%s` is not updated: %s", self._files.name(path), type(error).__name__)

    def _path(self, folder: Path) -> Path:
        return self._files.root / FOLDER / folder.name


def metadata_or_none(path: Path) -> str | None:
    try:
        return read_metadata(path)
    except Fatal:
        return None


def _read(path: Path) -> dict[str, tuple[str, str]]:
    """Return the entries of a manifest; none if there is none that can be read."""
    try:
        manifest = msgspec.json.decode(zlib.decompress(read_whole(path)), type=_Manifest)
    except (OSError, zlib.error, msgspec.DecodeError, ValueError):
        return {}
    return manifest.files if manifest.layout == _LAYOUT else {}
