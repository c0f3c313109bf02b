"""Files in batches: every row once, in the order of the files, for every batch size."""

from pathlib import Path

import polars as pl
import pytest

from tests import builders, frames
from turnetl.base import schema
from turnetl.base.errors import Fatal, Retryable
from turnetl.lake import arrow_schema
from turnetl.lake.checksum import sealed
from turnetl.lake.lake import batches
from turnetl.lake.parquet_writer import encode_with_pyarrow


def files(folder: Path, *counts: int) -> list[Path]:
    """Write files with the given numbers of turns."""
    paths = []
    for number, count in enumerate(counts):
        turns = [builders.turn(f"{number}-{index}") for index in range(count)]
        rows = frames.turns(*turns).collect().to_arrow().cast(arrow_schema(schema.TURNS))
        path = folder / f"{number}.parquet"
        path.write_bytes(b"".join(sealed(encode_with_pyarrow(rows, ""))))
        paths.append(path)
    return paths


@pytest.mark.parametrize("size", [1, 9_000, 12_000, 1 << 30])
def test_every_row_is_in_one_batch_in_the_order_of_the_files(tmp_path: Path, size: int) -> None:
    paths = files(tmp_path, 3, 0, 40, 1, 1)
    rows = [batch.read(pl.col("prompt_id")) for batch in batches(paths, schema.TURNS, size=size)]
    expected = pl.scan_parquet(paths, glob=False).select("prompt_id").collect()
    assert pl.concat(rows).equals(expected)


def test_small_files_share_a_batch_and_a_large_one_has_several(tmp_path: Path) -> None:
    small, large = files(tmp_path, 1, 1, 1, 600)[:3], tmp_path / "3.parquet"
    assert len(batches(small, schema.TURNS)) == 1
    size = large.stat().st_size // 4
    heights = [batch.read().height for batch in batches([large], schema.TURNS, size=size)]
    assert sum(heights) == 600
    assert max(heights) <= 150


def test_no_files_give_no_batches() -> None:
    assert batches([], schema.TURNS) == []


def test_a_file_deleted_in_the_meantime_is_named(tmp_path: Path) -> None:
    paths = files(tmp_path, 2, 2, 2)
    (batch,) = batches(paths, schema.TURNS)
    paths[1].unlink()
    with pytest.raises(Fatal, match="cannot be read") as caught:
        batch.read()
    assert str(paths[1]) in str(caught.value)


def test_a_file_with_other_columns_is_named(tmp_path: Path) -> None:
    paths = files(tmp_path, 2, 2, 2)
    pl.read_parquet(paths[2]).drop("chars").write_parquet(paths[2])
    (batch,) = batches(paths, schema.TURNS)
    with pytest.raises(Fatal, match="lacks the column `chars`") as caught:
        batch.read()
    assert str(paths[2]) in str(caught.value)


def test_a_replaced_file_is_not_taken_for_the_previous_one(tmp_path: Path) -> None:
    paths = files(tmp_path, 2, 2)
    (batch,) = batches(paths, schema.TURNS)
    assert batch.reread().height == 4
    other = tmp_path / "other"
    other.write_bytes(paths[1].read_bytes())
    other.replace(paths[1])
    with pytest.raises(Retryable, match="was replaced while it was read; run again") as caught:
        batch.reread()
    assert str(paths[1]) in str(caught.value)
