"""Build a Ladybug file beside another one from the tables of that one, and check that it has all.

A file is built by `COPY FROM` Arrow tables: `EXPORT DATABASE` does not support Graphiti's schema.
"""

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from turnetl.base.disks import free_bytes
from turnetl.base.errors import GraphUnusable
from turnetl.graph.ladybug import log
from turnetl.graph.ladybug.database import abandon, connect, create_tables, open_database
from turnetl.graph.ladybug.table_dump import TablePart, count_rows, table_names


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
            _copy(target, part, rows)
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


def _copy(target: Any, part: TablePart, rows: Any) -> None:
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
