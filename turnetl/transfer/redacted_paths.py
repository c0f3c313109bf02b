"""Paths of archives and names of machines, without secrets, and without persons on request."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from turnetl.lake import ArchiveMetadata
from turnetl.parsing.archive_paths import path_texts, redacted_path
from turnetl.parsing.person_names import path_without_persons, users_in
from turnetl.redact import Redactor
from turnetl.redact.placeholder import pieces

_MACHINE = re.compile(r"([a-z0-9._-]+):(?=/(?!/)|[A-Za-z]:[/\\]|[a-z0-9]+://)")
"""What an import puts before the path of an archive."""


def redacted_paths(
    paths: Mapping[str, Collection[str]], redactor: Redactor, *, keeps_machines: bool = False
) -> dict[str, str]:
    """Return what stands in place of each path, also of one after the name of its machine.

    Args:
        paths: the folders whose users are persons in a path, by path; the path itself is one.
        redactor: removes secrets, and persons on request.
        keeps_machines: whether the name of the machine stays.
    """
    distinct = sorted(paths)
    texts = [path_texts(local_path(path)) for path in distinct]
    redacted = redactor.redact_many(texts)
    clean = {}
    for path, before, after in zip(distinct, texts, redacted, strict=True):
        name = redacted_path(local_path(path), dict(zip(before, after.texts, strict=True)))
        if redactor.redacts_persons:
            users = users_in({local_path(path), *paths[path]})
            name = path_without_persons(name, users, redactor.person_placeholder)
        clean[path] = _machine(path, redactor, keeps_machines) + name
    return clean


def redacted_machine(name: str, redactor: Redactor) -> str:
    """Return the name of a machine, or what stands in its place: also a name of a machine."""
    if not name or not redactor.redacts_persons:
        return name
    _, digests = pieces(redactor.person_placeholder(name))
    return f"machine-{digests[0]}" if digests else name


def metadata_paths(archives: Iterable[ArchiveMetadata]) -> dict[str, set[str]]:
    """Return the paths that the metadata of turns files name, as `redacted_paths` takes them."""
    paths: dict[str, set[str]] = {}
    for one in archives:
        folders = {one.cwd} if one.cwd else set()
        for path in (one.archive, *folders):
            paths.setdefault(path, set()).update(folders)
    return paths


def with_paths(metadata: ArchiveMetadata, paths: Mapping[str, str]) -> ArchiveMetadata:
    """Return metadata with what stands in place of each of its `metadata_paths`."""
    archive, cwd = metadata.archive, metadata.cwd
    return replace(metadata, archive=paths[archive], cwd=cwd and paths[cwd])


def local_path(path: str) -> str:
    """Return the path of an archive on its machine."""
    found = _MACHINE.match(path)
    return path[found.end() :] if found else path


def archive_machine(path: str) -> str | None:
    """Return the machine of an imported archive; None: it is of this machine."""
    found = _MACHINE.match(path)
    return found[1] if found else None


def _machine(path: str, redactor: Redactor, keeps_machines: bool) -> str:
    machine = archive_machine(path)
    if machine is None:
        return ""
    return f"{machine if keeps_machines else redacted_machine(machine, redactor)}:"
