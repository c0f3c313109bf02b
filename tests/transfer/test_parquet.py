"""Turns files in a Parquet export."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.redactors import NoRedactor
from tests.transfer.lakes import lake_of
from turnetl.base.model import GroupId
from turnetl.index.conditions import Selection
from turnetl.lake import Lake
from turnetl.transfer.content import ExportContent
from turnetl.transfer.parquet import to_parquet
from turnetl.transfer.run_export import condition

SHOP = GroupId("shop")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Return a lake with two turns of the session `s1`, and an archive without turns."""
    lake = lake_of(tmp_path, "s1", "s2")
    path = next(one for one in lake.turn_paths() if session_of(lake, one) == "s2")
    metadata = lake.archive_metadata(path)
    assert metadata is not None
    empty = replace(metadata, counts={**metadata.counts, "turns": 0})
    lake.write_turns(lake.read_turns_file(path).clear(), empty, digest=path.stem)
    return lake


def session_of(lake: Lake, path: Path) -> str:
    return str(lake.read_turns_file(path)["session_id"][0])


def turns_files(lake: Lake, selection: Selection) -> list[bytes]:
    where = condition(selection, None)
    files = to_parquet(lake, [SHOP], where, ExportContent(()), NoRedactor()).files
    return [data for name, data in files.items() if name.startswith("turns/")]


def test_with_a_condition_no_archive_without_a_selected_turn_is_named(lake: Lake) -> None:
    (data,) = turns_files(lake, Selection(session="s1"))
    assert b"s1.jsonl" in data
    assert b"s2.jsonl" not in data
    assert turns_files(lake, Selection(session="other")) == []


def test_without_a_condition_an_archive_without_turns_is_exported(lake: Lake) -> None:
    files = turns_files(lake, Selection())
    assert [any(name in data for data in files) for name in (b"s1.jsonl", b"s2.jsonl")] == [
        True,
        True,
    ]
