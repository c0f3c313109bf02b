"""Rewrite a Ladybug file, so that it no longer holds the bytes of what was deleted.

Ladybug keeps deleted texts in its pages, also after a checkpoint. The tables are copied into a new
file, which then replaces the old one in one step.
"""

import glob
from pathlib import Path
from typing import Any

from turnetl.base import damaged_copies, private_files
from turnetl.base.disks import sync_file, sync_folder
from turnetl.base.errors import GraphUnusable
from turnetl.graph.ladybug import checksum, log
from turnetl.graph.ladybug.client import error_reason
from turnetl.graph.ladybug.database import create_tables
from turnetl.graph.ladybug.file import LadybugFile
from turnetl.graph.ladybug.log import RESERVE
from turnetl.graph.ladybug.swap import delete_kept
from turnetl.graph.ladybug.table_copy import (
    building,
    check_counts,
    check_merged,
    check_space,
    copy_tables,
    foreign_table,
)
from turnetl.graph.ladybug.table_dump import read_tables, table_names

_SUFFIX = ".rewritten"


def rewrite_file(path: Path) -> None:
    """Replace the file by a copy of its rows, and delete what is kept of it beside it.

    That is copies of damaged logs, and files that `turnetl graph upgrade` kept. A kill leaves the
    old file or the new one, and perhaps an incomplete copy, which the next call deletes.

    Raises:
        GraphBusy: another process has it open.
        GraphUnusable: it holds tables of another program, or there is not enough disk space.
    """
    copy = path.with_name(f"{path.name}{_SUFFIX}")
    check_space(path, path.stat().st_size + 2 * RESERVE, "a copy without the deleted texts")
    file = LadybugFile.open(path, write=True)
    try:
        _delete(copy)
        private_files.ensure_file(copy, like=path)
        _copy(file.connection, copy, path)
        file.connection.close()
        file.database.close()
        check_merged(path)
        check_merged(copy)
        sync_file(copy)
        copy.replace(path)
        sync_folder(path.parent)
        checksum.end_writing(path)
        delete_kept(path)
        for old in (copy for name in log.log_names(path) for copy in damaged_copies.copies(name)):
            old.unlink(missing_ok=True)
    except RuntimeError as error:
        raise GraphUnusable(
            f"graph `{path}` cannot be copied without the deleted texts: {error_reason(error)}; "
            "it stays as it is: free some disk space, then repeat the command"
        ) from error
    finally:
        if file.lock:
            file.lock.close()


def _copy(source: Any, copy: Path, path: Path) -> None:
    create_tables(source)
    with building(copy) as target:
        if (foreign := foreign_table(table_names(source), target)) is not None:
            raise GraphUnusable(
                f"graph `{path}` holds tables of another program (`{foreign}`), which cannot be "
                "copied: what was deleted from it stays in the bytes of the file"
            )
        check_counts(target, copy_tables(target, read_tables(source)))


def _delete(copy: Path) -> None:
    # Its log, and the pages of a checkpoint: a database with this name would not open beside them.
    for file in copy.parent.glob(f"{glob.escape(copy.name)}*"):
        file.unlink(missing_ok=True)
