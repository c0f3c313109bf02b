"""Tables of before tokens were split: read as they are, and made again where the archive exists."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from tests.fakes.redactors import NoRedactor
from turnetl import parsing
from turnetl.activity_report.turns import read_lake
from turnetl.activity_report.usage import agent_usage, subagent_rows
from turnetl.base import schema
from turnetl.base.model import GroupId
from turnetl.base.schema import TOKEN_COUNTS
from turnetl.episodes import build
from turnetl.lake import Lake
from turnetl.lake.parquet import read_metadata
from turnetl.lake.parquet_writer import table_bytes

ARCHIVES = Path(__file__).parents[1] / "archives" / "tokens_codex"
SHOP = GroupId("shop")
ADDED = {"cache_write_tokens", "cache_read_tokens", "reasoning_tokens", "usage"}


def parse(archive: Path, lake: Lake) -> list[str]:
    report = parsing.parse_archives([*archive.iterdir()], lake, redactor=NoRedactor())
    build(lake, lake.groups())
    return [one.outcome.value for one in report.archives]


def make_older(path: Path, table: schema.Table, version: int) -> None:
    """Write a table as an older turnetl wrote it: input with the cache, and no other counts."""
    added = table.later_columns[version]
    columns = tuple(column for column in table.columns if column.name not in added)
    rows = pl.read_parquet(path).with_columns(input_tokens=pl.lit(3050, pl.Int64)).drop(added)
    metadata = json.loads(read_metadata(path))
    left_out = [name for name in metadata if name.endswith("_digest")]
    for name in ("tokens", "subagent_usage", *left_out):
        metadata.pop(name, None)
    text = json.dumps(metadata | {"schema": type(metadata["schema"])(version)})
    older = replace(table, version=version, columns=columns, later_columns={})
    path.write_bytes(table_bytes(path, rows, older, text))


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return shutil.copytree(ARCHIVES, tmp_path / "archives")


@pytest.fixture
def lake(archive: Path, tmp_path: Path) -> Lake:
    """Return a lake of the archive as an older turnetl wrote it."""
    lake = Lake(tmp_path / "lake")
    parse(archive, lake)
    for path in lake.turn_paths():
        make_older(path, schema.TURNS, 2)
    make_older(lake.episodes_path(SHOP), schema.EPISODES, 5)
    return lake


def counts(lake: Lake) -> list[object]:
    turns = read_lake(lake, lake.groups(), (), lambda *_: None)
    usage = agent_usage(turns, subagent_rows(lake.turn_files()))
    return [*(getattr(usage.total, name) for name in TOKEN_COUNTS), usage.older_turns]


def test_tables_of_an_older_version_are_read_with_nulls(lake: Lake) -> None:
    for rows in (lake.scan_turns(SHOP), lake.scan_episodes(SHOP)):
        assert rows.select(sorted(ADDED)).collect().null_count().row(0) == (1, 1, 1, 1)
    [turn] = lake.turns(SHOP)
    assert (turn.input_tokens, turn.cache_read_tokens, turn.usage) == (3050, None, None)
    assert counts(lake) == [3050, None, None, 520, None, 1]


def test_an_archive_that_exists_is_read_again_and_its_turns_keep_their_ids(
    lake: Lake, archive: Path
) -> None:
    same = ["turn_id", "content_hash", "user_text", "assistant_text"]
    before = lake.scan_episodes(SHOP).select(*same, "text_hash").collect()
    assert parse(archive, lake) == ["changed"]
    assert counts(lake) == [2550, 100, 1400, 520, 32, 0]
    assert lake.scan_episodes(SHOP).select(*same, "text_hash").collect().equals(before)
    assert parse(archive, lake) == ["unchanged"]


def test_turns_whose_archive_is_gone_stay_with_their_old_counts(lake: Lake, archive: Path) -> None:
    shutil.rmtree(archive)
    build(lake, lake.groups())
    assert counts(lake) == [3050, None, None, 520, None, 1]
    assert json.loads(read_metadata(lake.episodes_path(SHOP)))["schema"] == str(
        schema.EPISODES.version
    )


def test_a_turn_that_its_archive_lost_stays_with_its_old_counts(lake: Lake, archive: Path) -> None:
    [path] = archive.iterdir()
    path.write_text(path.read_text().splitlines()[0] + "\n")
    assert parse(archive, lake) == ["changed"]
    [file] = lake.turn_files()
    assert (file.metadata.schema, file.metadata.retained_turns) == (schema.TURNS.version, 1)
    assert counts(lake) == [3050, None, None, 520, None, 1]
