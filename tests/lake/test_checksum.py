"""Damage: a table is read as it was written, or the file is named."""

from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import builders
from tests.lake.test_lake import BARE, FULL, SHOP, episodes_frame, metadata, turns_frame
from turnetl.base import schema
from turnetl.base.errors import TableUnusable
from turnetl.lake import ArchiveMetadata, Lake

SAME_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
DAMAGE = st.tuples(st.integers(0), st.integers(0, 7))


def flipped(path: Path, at: int, bit: int) -> None:
    """Flip one bit of a file, as a failing disk does."""
    data = bytearray(path.read_bytes())
    data[at % len(data)] ^= 1 << bit
    path.write_bytes(data)


def filled(folder: Path) -> tuple[Lake, Path, Path]:
    """Return a lake with its turns file and its episodes table of several slices."""
    lake = Lake(folder)
    path = lake.write_turns(turns_frame(FULL, BARE), metadata())
    rows = episodes_frame(*(builders.episode(str(number)) for number in range(40)))
    lake.write_episodes(SHOP, (rows[at : at + 10] for at in range(0, 40, 10)), dict)
    return lake, path, lake.episodes_folder / "shop.parquet"


@pytest.mark.full
@SAME_FOLDER
@given(DAMAGE)
def test_one_flipped_bit_in_a_turns_file_is_never_read_as_other_values(
    tmp_path: Path, damage: tuple[int, int]
) -> None:
    lake, path, _ = filled(tmp_path)
    flipped(path, *damage)
    for batch in lake.turn_batches(SHOP):
        with pytest.raises(TableUnusable) as caught:
            batch.read()
        assert caught.value.path == path
    with pytest.raises(TableUnusable, match="`turnetl backfill` of its archive creates it again"):
        lake.turns(SHOP)


@pytest.mark.full
@SAME_FOLDER
@given(DAMAGE)
def test_one_flipped_bit_in_an_episodes_table_is_never_read_as_other_values(
    tmp_path: Path, damage: tuple[int, int]
) -> None:
    lake, _, path = filled(tmp_path)
    flipped(path, *damage)
    with pytest.raises(TableUnusable):
        lake.verify_episodes(SHOP)
    with pytest.raises(TableUnusable) as caught:
        list(lake.episodes(SHOP))
    assert caught.value.path == path


@pytest.mark.full
@SAME_FOLDER
@given(DAMAGE)
def test_rows_that_are_not_verified_are_read_or_the_table_is_named(
    tmp_path: Path, damage: tuple[int, int]
) -> None:
    lake, _, path = filled(tmp_path)
    flipped(path, *damage)
    # An error of polars itself would not be suppressed; one of its panics is no `Exception`.
    with suppress(TableUnusable), lake.reading_episodes(SHOP):
        assert len(lake.scan_episodes(SHOP).collect().columns) == len(schema.EPISODES.columns)


@pytest.mark.full
@SAME_FOLDER
@given(DAMAGE)
def test_the_metadata_of_a_file_is_what_was_written_or_none(
    tmp_path: Path, damage: tuple[int, int]
) -> None:
    lake, path, _ = filled(tmp_path)
    before: ArchiveMetadata | None = lake.archive_metadata(path)
    flipped(path, *damage)
    assert lake.archive_metadata(path) in (before, None)


def test_a_table_has_a_checksum_however_it_is_written(tmp_path: Path) -> None:
    lake, path, episodes = filled(tmp_path)
    assert list(lake.turns(SHOP)) == [FULL, BARE]
    lake.verify_episodes(SHOP)
    assert pl.read_parquet(path).height == 2
    assert pl.read_parquet(episodes).height == 40


@pytest.mark.parametrize("name", ["lk[1]", "a*", "a?", "x{1,2}", "file:x", "~", "s3:", "%41"])
def test_a_lake_has_any_name(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for other in ("lk1", "ab", "x1"):
        Lake(Path(other)).write_turns(turns_frame(), metadata())
    lake, path, _ = filled(Path(name))
    assert path.absolute().is_relative_to(tmp_path / name)
    assert list(lake.turns(SHOP)) == [FULL, BARE]
    assert lake.read_turns_file(path).height == 2
    assert [batch.read().height for batch in lake.turn_batches(SHOP)] == [2]
    assert len(list(lake.episodes(SHOP))) == 40
    assert [file.path for file in lake.turn_files()] == [path]
