"""Rewrite a Ladybug file, so that it no longer holds the bytes of what was deleted.

Ladybug keeps deleted texts in its pages, also after a checkpoint. A new file, which then replaces
the old one in one step, is built by `COPY FROM` Arrow tables, as in an upgrade: `EXPORT DATABASE`
does not support Graphiti's schema.
"""

import glob
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from turnetl.base import damaged_copies, private_files
from turnetl.base.disks import free_bytes, sync_file, sync_folder
from turnetl.base.errors import GraphUnusable
from turnetl.graph.ladybug import checksum, log
from turnetl.graph.ladybug.client import error_reason
from turnetl.graph.ladybug.database import abandon, connect, create_tables, open_database
from turnetl.graph.ladybug.file import LadybugFile
from turnetl.graph.ladybug.log import RESERVE
from turnetl.graph.ladybug.swap import delete_kept
from turnetl.graph.ladybug.table_dump import TablePart, count_rows, read_tables, table_names

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
                "copied, so that what was deleted stays in the bytes of the file: let that program "
                "use a file of its own, and run again"
            )
        check_counts(target, copy_tables(target, read_tables(source)))


def _delete(copy: Path) -> None:
    # Its log, and the pages of a checkpoint: a database with this name would not open beside them.
    for file in copy.parent.glob(f"{glob.escape(copy.name)}*"):
        file.unlink(missing_ok=True)


@contextmanager
def building(path: Path) -> Generator[Any]:
    """Yield a connection to a new file with turnetl's tables; merge its log in the end."""
    with ExitStack() as opened:
        database = opened.enter_context(closing(open_database(path, write=True)))
        target = opened.enter_context(closing(connect(database)))
        try:
            create_tables(target)
            yield target
        except RuntimeError:
            opened.pop_all()
            abandon(target)
            raise


def copy_tables(
    target: Any,
    parts: Iterable[tuple[TablePart, Any]],
    copied: Callable[[TablePart], None] = lambda _: None,
) -> Mapping[str, int]:
    """Write the rows of each part, nodes first, and return how many each table is to have."""
    counts = dict[str, int]()
    for part, rows in parts:
        counts[part.table] = counts.get(part.table, 0) + rows.num_rows
        if rows.num_rows:
            _copy_part(target, part, rows)
        copied(part)
    return counts


def check_counts(target: Any, counts: Mapping[str, int]) -> None:
    """Check that each table has as many rows."""
    is_node = table_names(target)
    for table, expected in counts.items():
        if count_rows(target, table, is_node=is_node[table]) != expected:
            raise GraphUnusable(
                "the copy of the graph is not complete; the graph stays as it is, repeat the "
                "command"
            )


def _copy_part(target: Any, part: TablePart, rows: Any) -> None:
    columns = [name for name in rows.column_names if name not in ("start_key", "end_key")]
    named = f" ({', '.join(f'`{column}`' for column in columns)})" if columns else ""
    ends = f" (from='{part.start}', to='{part.end}')" if part.start is not None else ""
    target.execute(f"COPY `{part.table}`{named} FROM $rows{ends}", {"rows": rows})


def foreign_table(source: Iterable[str], target: Any) -> str | None:
    """Return a table of another program, for which the new file has no definition."""
    return next(iter(sorted({*source} - table_names(target).keys())), None)


def check_space(
    path: Path,
    required: int,
    purpose: str,
    free_bytes: Callable[[Path], float] = free_bytes,
) -> None:
    """Check that `required` bytes are free on the disk of the graph."""
    if free_bytes(path.parent) < required:
        raise GraphUnusable(
            f"the disk of graph `{path}` needs {required / 1e6:,.0f} MB of free space for "
            f"{purpose}: free some space, then repeat the command"
        )


def check_merged(path: Path) -> None:
    """Check that no log is left, which would be replayed into another file of this name."""
    if log.log_files(path):
        raise GraphUnusable(
            f"the log of graph `{path}` could not be merged into the file: free some disk space, "
            "then repeat the command"
        )
