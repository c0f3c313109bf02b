"""Two Parquet writers whose files hold the same table."""

from collections.abc import Callable
from io import BytesIO

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests import builders, frames
from turnetl.base import schema
from turnetl.lake import arrow_schema
from turnetl.lake.parquet import METADATA_KEY
from turnetl.lake.parquet_writer import (
    HAS_ARRO3,
    encode_table,
    encode_with_arro3,
    encode_with_pyarrow,
)

Writer = Callable[[pa.Table, str], memoryview]
TURN = builders.turn(
    "full",
    steering=("and the tests",),
    tool_calls=(builders.tool("Bash", "pytest -q", "1 failed"),),
)
BARE = builders.turn("bare", started_at=None, ended_at=None, closed_by=None, model=None)
METADATA = '{"archive":"/home/dev/café.jsonl"}'

WITHOUT_ARRO3 = pytest.mark.skipif(not HAS_ARRO3, reason="no wheel of arro3 for this machine")

writers = pytest.mark.parametrize(
    "write", [pytest.param(encode_with_arro3, marks=WITHOUT_ARRO3), encode_with_pyarrow]
)
sizes = pytest.mark.parametrize("times", [0, 1, 600], ids=["empty", "small", "large"])


def table(times: int) -> pa.Table:
    return frames.turns(*(TURN, BARE) * times).collect().to_arrow().cast(arrow_schema(schema.TURNS))


@writers
@sizes
def test_polars_reads_what_was_written(write: Writer, times: int) -> None:
    data = BytesIO(write(table(times), METADATA))
    assert pl.read_parquet(data).equals(frames.turns(*(TURN, BARE) * times).collect())


@pytest.mark.full
@writers
@sizes
def test_pyarrow_reads_what_was_written(write: Writer, times: int) -> None:
    rows = pq.read_table(BytesIO(write(table(times), METADATA)))
    assert rows.to_pylist() == table(times).to_pylist()


@writers
def test_a_file_holds_the_given_metadata_and_nothing_else(write: Writer) -> None:
    assert pl.read_parquet_metadata(BytesIO(write(table(1), METADATA))) == {METADATA_KEY: METADATA}


@sizes
def test_the_same_table_gives_the_same_bytes(times: int) -> None:
    assert encode_table(table(times), METADATA) == encode_table(table(times), METADATA)


@writers
def test_list_elements_have_the_name_that_parquet_requires(write: Writer) -> None:
    columns = pq.ParquetFile(BytesIO(write(table(1), METADATA))).schema
    paths = [columns.column(index).path for index in range(len(columns))]
    assert "steering.list.element" in paths
    assert "tool_calls.list.element.result" in paths
