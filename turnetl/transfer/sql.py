"""`turnetl sql`: DuckDB over the episodes tables of a lake and the facts of its graph.

The database is in memory. A query reaches no network, and no file but those of a folder that is
deleted when it ends, to which DuckDB moves what memory does not hold.
"""

import io
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, cast

import polars as pl
from polars import selectors

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage
from turnetl.base.progress import Progress, ignore_progress
from turnetl.base.results import described
from turnetl.settings import Settings
from turnetl.transfer.compact import IS_FIRST_COPY, without_copies
from turnetl.transfer.parquet import ENTITY_COLUMNS, FACT_COLUMNS, frame
from turnetl.transfer.run_export import graph_content, groups_with_turns

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_CONFIG = {
    "TimeZone": "'UTC'",
    "python_enable_replacements": "false",
    "enable_external_access": "false",
    "lock_configuration": "true",
}
"""A query sees the views alone: no file, no address, no variable of this program."""

_WRITERS: Mapping[str, Callable[[pl.DataFrame, io.BytesIO], object]] = {
    ".csv": pl.DataFrame.write_csv,
    ".jsonl": pl.DataFrame.write_ndjson,
    ".parquet": pl.DataFrame.write_parquet,
}
"""By suffix of the file."""
_DECIMALS = selectors.decimal()
_WHOLE_NUMBERS = selectors.by_dtype(pl.Decimal(38, 0)).cast(pl.Int128)
"""Of DuckDB's sums."""
_OTHER_NUMBERS = (_DECIMALS - selectors.by_dtype(pl.Decimal(38, 0))).cast(pl.Float64)
_DAYS = selectors.by_dtype(pl.Date, pl.Time, pl.Duration).cast(pl.String)
_BYTES = selectors.binary().bin.encode("hex")
_NO_POLARS_TYPE = re.compile(r"\b(?:BIGNUM|BIT|INTERVAL|UHUGEINT|UNION)\b")
"""Found in the types whose values polars refuses or changes: they are read as text."""
_POLARS_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
"""It also panics, for instance at a time that is infinite."""


@dataclass(frozen=True, slots=True)
class SqlColumn:
    """A column of a query's result."""

    name: Annotated[str, described("Its name.")]
    type: Annotated[str, described("Its type, as DuckDB writes it.")]


@dataclass(frozen=True, slots=True)
class SqlResult:
    """The rows that a query found."""

    columns: Annotated[tuple[SqlColumn, ...], described("The columns, in order.")]
    rows: Annotated[
        tuple[Mapping[str, Any], ...],
        described("The rows: the value of each column by its name. A time is in UTC."),
    ]
    unread: Annotated[
        str | None,
        described("Why entities and facts are missing or old; null: they are those of the graph."),
    ] = None


@dataclass(frozen=True, slots=True)
class SqlSession:
    """The views of a lake, open for queries."""

    connection: "DuckDBPyConnection"
    unread: str | None

    def frame(self, query: str) -> pl.DataFrame:
        """Return the rows of the last statement; none if it has no result.

        Raises:
            BadUsage: DuckDB refuses the query, or its result has a type that no table holds.
        """
        return self._executed(query)[0]

    def result(self, query: str) -> SqlResult:
        """Return the same as values."""
        rows, types = self._executed(query)
        columns = map(SqlColumn, rows.columns, types)
        try:
            rows = rows.with_columns(_WHOLE_NUMBERS, _OTHER_NUMBERS, _DAYS, _BYTES)
            return SqlResult(tuple(columns), tuple(rows.iter_rows(named=True)), self.unread)
        except _POLARS_ERRORS as error:
            raise BadUsage(f"the result holds a value that cannot be printed: {error}") from error

    def _executed(self, query: str) -> tuple[pl.DataFrame, list[str]]:
        import duckdb  # noqa: PLC0415 - an extra

        try:
            # The stubs do not say that a statement may have no result.
            found = cast("duckdb.DuckDBPyRelation | None", self.connection.sql(query))
            if found is None:
                return pl.DataFrame(), []
            types = [str(one) for one in found.types]
            if any(map(_NO_POLARS_TYPE.search, types)):
                found = found.project(", ".join(map(_projected, found.columns, types)))
            return found.pl(), types
        except (duckdb.Error, *_POLARS_ERRORS) as error:
            raise BadUsage(f"the query failed: {error}") from error


def _projected(name: str, of_type: str) -> str:
    """Return a column of a result, as text if polars has no such type."""
    quoted = '"{}"'.format(name.replace('"', '""'))
    return f"{quoted}::VARCHAR AS {quoted}" if _NO_POLARS_TYPE.search(of_type) else quoted


@dataclass(frozen=True, slots=True)
class SqlTables:
    """What the views are made of."""

    frames: Mapping[str, pl.LazyFrame]
    """By name; the rows of the lake are read when a query needs them."""
    unread: str | None
    """Why entities and facts are missing or old; None: they are those of the graph."""

    @contextmanager
    def opened(self) -> Iterator[SqlSession]:
        """Open a database in memory with the views.

        Raises:
            BadUsage: DuckDB is not installed.
        """
        try:
            import duckdb  # noqa: PLC0415 - an extra
        except ImportError:
            raise BadUsage("`turnetl sql` needs DuckDB: run `pip install 'turnetl[sql]'`") from None
        views = resources.files(__package__).joinpath("views.sql").read_text(encoding="utf-8")
        with TemporaryDirectory() as folder, duckdb.connect() as connection:
            for name, table in self.frames.items():
                connection.register(name, table)
            connection.execute(views)
            connection.execute("SET temp_directory = '{}'".format(folder.replace("'", "''")))
            for name, value in _CONFIG.items():
                connection.execute(f"SET {name} = {value}")
            yield SqlSession(connection, self.unread)


def write_rows(session: SqlSession, query: str, path: Path) -> int:
    """Write all rows of a query to a new file and return their number.

    Raises:
        BadUsage: the file exists or cannot be written, its suffix names no format, or the query
            fails.
    """
    write = _WRITERS.get(path.suffix.lower())
    if write is None:
        raise BadUsage(f"`--output` takes a file named {', '.join(_WRITERS)}, not `{path.name}`")
    rows = session.frame(query)
    buffer = io.BytesIO()
    try:
        write(rows, buffer)
        with path.open("xb") as file:
            file.write(buffer.getvalue())
    except _POLARS_ERRORS as error:
        raise BadUsage(f"`{path.suffix}` cannot hold these rows, others can: {error}") from error
    except FileExistsError:
        raise BadUsage(f"`{path}` exists: name another file") from None
    except OSError as error:
        problem = f"`{path.parent}` takes no file `{path.name}`: {error.strerror}"
        raise BadUsage(problem) from error
    return rows.height


async def read_tables(
    settings: Settings, clock: Clock, *, progress: Progress = ignore_progress
) -> SqlTables:
    """Return the episodes tables of the lake, and what its graph states.

    Raises:
        BadUsage: the lake holds no turns.
        Fatal: a table cannot be read.
    """
    lake = wiring.lake(settings)
    groups = groups_with_turns(settings, lake)
    content, unread = await graph_content(settings, clock, groups, progress)
    for group in groups:
        lake.verify_episodes(group)
    tables = pl.concat([lake.scan_episodes(group) for group in groups])
    episodes = tables.with_columns(is_first=IS_FIRST_COPY)
    first = episodes.filter("is_first").select("turn_id").collect()
    content = without_copies(content, set(first["turn_id"]))
    frames = {
        "episodes": episodes,
        "graph_entities": frame(content.entities, ENTITY_COLUMNS).lazy(),
        "graph_facts": frame(content.facts, FACT_COLUMNS).lazy(),
    }
    return SqlTables(frames, unread)
