"""Lakes that somebody made up: no file outside the lake, and none of this machine, is written."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

from tests.fakes.redactors import WordRedactor
from tests.transfer.lakes import contents, imported, lake_of
from turnetl.base import schema
from turnetl.base.model import GroupId
from turnetl.lake import Lake
from turnetl.lake.parquet_writer import table_bytes
from turnetl.transfer.lake_import import import_lake

SHOP = GroupId("shop")
USAGE = {
    "subagent": "0" * 32,
    "model": "opus",
    "started_at": "2026-03-02T09:00:00Z",
    "input_tokens": 7,
    "output_tokens": 2,
}


def disguised(source: Lake, **changes: Any) -> Path:
    """Change the metadata of a file of the other lake in its place, and return its path."""
    path = source.turn_paths()[0]
    metadata = source.archive_metadata(path)
    assert metadata is not None
    text = msgspec.json.encode(msgspec.to_builtins(metadata) | changes).decode()
    rows = source.read_turns_file(path)
    path.write_bytes(table_bytes(path, rows, schema.TURNS, text))
    return path


@pytest.mark.parametrize(
    "changes",
    [
        {"group": "../../../escaped"},
        {"group": "other"},
        {"group": "/escaped"},
        {"group": ""},
        {"machine": "../../x\x1b[31m", "archive": "../../x\x1b[31m:/q"},
        {"machine": "desktop", "archive": "laptop:/q"},
        {"machine": "desktop", "archive": "desktop:/q", "original_digest": "../x"},
        {"archive": ""},
        {"format": "\x1b[31m"},
        {"counts": {}},
        {"counts": {"turns": "2", "skipped": {}}},
        {"counts": {"turns": -2, "skipped": {}}},
        {"counts": {"turns": 2, "skipped": {"no such reason": 1}}},
        {"subagent_usage": [USAGE | {"subagent": "../x"}]},
        {"subagent_usage": [USAGE | {"session": "../x"}]},
        {"subagent_usage": [USAGE | {"started_at": "2026-03-02T09:00:00"}]},
        {"subagent_usage": [USAGE | {"input_tokens": -1}]},
        {"subagent_usage": [USAGE | {"output_tokens": 2**60}]},
    ],
    ids=str,
)
def test_a_file_with_metadata_that_no_turnetl_writes_is_left_out_and_the_rest_is_imported(
    changes: dict[str, Any], source: Lake, lake: Lake, tmp_path: Path
) -> None:
    path = disguised(source, **changes)
    before = {entry for entry in tmp_path.rglob("*") if not entry.is_relative_to(lake.root)}
    report = imported(source, lake)
    (damaged,) = report.damaged
    assert str(path) in str(damaged.problem)
    assert report.added == 2
    assert {one.parent.name for one in lake.turn_paths()} == {"shop"}
    after = {entry for entry in tmp_path.rglob("*") if not entry.is_relative_to(lake.root)}
    assert after == before


def test_a_secret_in_the_place_of_a_model_is_redacted(source: Lake, lake: Lake) -> None:
    disguised(source, subagent_usage=[USAGE | {"model": "hunter2-large"}, USAGE | {"model": None}])
    import_lake(source, lake, "laptop", redactor=lambda: WordRedactor("hunter2"))
    [usage] = [
        one.metadata.subagent_usage for one in lake.turn_files() if one.metadata.subagent_usage
    ]
    assert [one.model for one in usage] == [None, "[cut]-large"]


def test_a_file_whose_name_is_no_digest_is_left_out(source: Lake, lake: Lake) -> None:
    path = source.turn_paths()[0]
    path.rename(path.with_name("mine.parquet"))
    report = imported(source, lake)
    assert [str(path.with_name("mine.parquet")) in str(one.problem) for one in report.damaged] == [
        True
    ]
    assert lake.count_turns(SHOP) == 2


def test_turns_of_a_group_that_is_not_the_one_of_their_file_are_left_out(
    source: Lake, lake: Lake
) -> None:
    path = source.turn_paths()[0]
    metadata = source.archive_metadata(path)
    assert metadata is not None
    rows = source.read_turns_file(path).with_columns(group_id=pl.lit("other"))
    source.write_turns(rows, metadata, digest=path.stem)
    assert len(imported(source, lake).damaged) == 1
    assert lake.count_turns(SHOP) == 2


def test_no_file_of_another_lake_replaces_one_of_this_machine(tmp_path: Path) -> None:
    lake, source = lake_of(tmp_path, "s1"), lake_of(tmp_path / "other", "s1")
    own = lake.turn_paths()[0]
    path = disguised(source, machine="laptop", archive="laptop:/x/y.jsonl")
    path.rename(path.with_name(own.name))
    before = contents(lake)
    report = imported(source, lake)
    assert report.added == 2
    assert contents(lake).items() > before.items()
    assert own.name not in {one.name for one in lake.turn_paths() if one != own}


def test_what_another_machine_imported_is_not_replaced(source: Lake, lake: Lake) -> None:
    imported(source, lake)
    path = lake.turn_paths()[0]
    metadata = lake.archive_metadata(path)
    assert metadata is not None
    for machine in ("", "desktop"):
        rows = lake.read_turns_file(path)
        lake.write_turns(rows, replace(metadata, machine=machine), digest=path.stem)
        before = contents(lake)
        (damaged,) = imported(source, lake).damaged
        assert "is not replaced" in str(damaged.problem)
        assert contents(lake) == before


def test_a_link_that_leads_out_of_the_other_lake_is_not_followed(
    source: Lake, lake: Lake, tmp_path: Path
) -> None:
    path = source.turn_paths()[0]
    (tmp_path / "private").mkdir()
    moved = path.rename(tmp_path / "private" / path.name)
    path.symlink_to(moved)
    (source.root / "turns" / "linked").symlink_to(moved.parent)
    report = imported(source, lake)
    assert len(report.damaged) == 2
    assert all("outside the lake" in str(one.problem) for one in report.damaged)
    assert lake.count_turns(SHOP) == 2
