"""The tables of a lake with polars, and the same question in SQL with DuckDB.

python examples/query_lake.py lake
"""

import sys
from pathlib import Path

import polars as pl

try:
    import duckdb
except ModuleNotFoundError:
    sys.exit("this example needs DuckDB: run `pip install duckdb`")

FAILED_CALLS = """
    SELECT group_id, call.name AS tool, count(*) AS calls, count(*) FILTER (call.is_error) AS failed
    FROM (SELECT group_id, unnest(tool_calls) AS call FROM read_parquet(?))
    GROUP BY ALL
    ORDER BY group_id, tool
"""


def failed_calls_by_polars(tables: str) -> pl.DataFrame:
    """Return the calls of each tool in each group, and how many of them failed."""
    call = pl.col("tool_calls").struct
    return (
        pl.scan_parquet(tables)
        .explode("tool_calls")
        .drop_nulls("tool_calls")
        .group_by("group_id", call.field("name").alias("tool"))
        .agg(calls=pl.len(), failed=call.field("is_error").sum())
        .sort("group_id", "tool")
        .collect()
    )


def failed_calls_by_duckdb(tables: str) -> pl.DataFrame:
    """Return the same by SQL."""
    with duckdb.connect() as connection:
        table: pl.DataFrame = connection.sql(FAILED_CALLS, params=[tables]).pl()
    return table


def main(lake: Path) -> None:
    # Each turn of a group once; `turns/*/*.parquet` has a turn for each archive that holds it.
    tables = str(lake / "episodes" / "*.parquet")
    print(failed_calls_by_polars(tables))
    print(failed_calls_by_duckdb(tables))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
