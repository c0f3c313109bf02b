"""Replace a Ladybug file and its logs by a complete new file, and keep the old ones.

`graph.lbug.upgraded` exists only if it is complete. The next process that opens the graph, with the
lock of a writer, puts it in the place of `graph.lbug`; after a kill, the next one continues. The
old file and its logs stay as `graph.lbug.storage47`, with the number of their storage version: the
release that wrote them opens them under this name.
"""

import filecmp
import os
import re
import shutil
from contextlib import suppress
from pathlib import Path

from turnetl.base import private_files
from turnetl.base.disks import sync_file, sync_folder
from turnetl.base.errors import GraphUnusable
from turnetl.graph.ladybug.storage_version import storage_version
from turnetl.graph.ladybug.table_dump import BESIDE

_UPGRADED = ".upgraded"


def kept_name(path: Path, version: int) -> Path:
    """Return the name under which the file of this storage version is kept."""
    return path.with_name(f"{path.name}.storage{version}")


def work_folder(path: Path) -> Path:
    """Return the folder in which a new file is made; the next upgrade deletes what a kill left."""
    return path.with_name(f"{path.name}.upgrading")


def delete_work(path: Path) -> None:
    if work_folder(path).is_symlink():
        raise GraphUnusable(
            f"`{work_folder(path)}` is a symbolic link, which turnetl never makes; remove it"
        )
    shutil.rmtree(work_folder(path), ignore_errors=True)


def earlier_kept(path: Path, version: int) -> Path | None:
    """Return a file that an earlier upgrade from this storage version kept."""
    kept = kept_name(path, version)
    files = (_beside(kept, suffix) for suffix in ("", *BESIDE))
    return next((file for file in files if os.path.lexists(file)), None)


def is_pending(path: Path) -> bool:
    """Return whether a new file waits to take the place of this one."""
    return path.with_name(f"{path.name}{_UPGRADED}").exists()


def commit(path: Path, new: Path) -> None:
    """Put a complete file in the place of this one; from here on, a kill leaves the new file."""
    sync_file(new)
    new.rename(path.with_name(f"{path.name}{_UPGRADED}"))
    sync_folder(path.parent)
    finish(path)


def finish(path: Path) -> None:
    """Put the new file in its place, if one waits. The caller holds the lock of a writer."""
    if not is_pending(path):
        return
    try:
        if path.exists():
            _keep_all(path)
        for suffix in BESIDE:
            _beside(path, suffix).unlink(missing_ok=True)
        # An old log must never lie beside the new file.
        sync_folder(path.parent)
        path.with_name(f"{path.name}{_UPGRADED}").replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise GraphUnusable(
            f"graph `{path}` cannot be replaced by its upgraded file ({error.strerror}): make that "
            "possible, then repeat the command"
        ) from error


def delete_kept(path: Path) -> None:
    """Delete what is kept of earlier storage versions, and what a killed upgrade left."""
    delete_work(path)
    kept = re.compile(re.escape(path.name) + r"\.storage\d+(\..+)?")
    for file in path.parent.iterdir():
        if kept.fullmatch(file.name):
            file.unlink(missing_ok=True)


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(f"{path.name}{suffix}")


def _keep_all(path: Path) -> None:
    if (version := storage_version(path)) is None:
        raise GraphUnusable(
            f"graph `{path}` waits for its upgraded file, and is no Ladybug file any more: move it "
            "away, then repeat the command"
        )
    for suffix in ("", *BESIDE):
        _keep(_beside(path, suffix), _beside(kept_name(path, version), suffix))
    sync_folder(path.parent)


def _keep(source: Path, copy: Path) -> None:
    # What is missing was removed by a process that was killed later.
    if not source.exists():
        return
    if copy.exists():
        if not filecmp.cmp(source, copy, shallow=False):
            raise GraphUnusable(
                f"`{source}` was changed since its upgrade, and `{copy}` is kept of it: move one "
                "of them away, then repeat the command"
            )
        return
    with suppress(OSError):
        os.link(source, copy)
        return
    # Some disks have no hard links.
    partial = copy.with_name(f"{copy.name}.partial")
    private_files.ensure_file(partial, like=source)
    shutil.copyfile(source, partial)
    sync_file(partial)
    partial.replace(copy)
