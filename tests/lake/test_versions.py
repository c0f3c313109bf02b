"""Tables of another schema version are rejected in one sentence that says what to do."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import polars as pl
import pytest

from tests import builders, frames
from tests.fakes.redactors import NoRedactor
from tests.lake.test_lake import metadata
from turnetl import parsing
from turnetl.base import schema
from turnetl.base.errors import Fatal
from turnetl.lake import Lake
from turnetl.lake.parquet import METADATA_KEY

SHOP = builders.GROUP
OTHER_VERSIONS = [min(schema.TURNS.later_columns) - 1, schema.TURNS.version + 1]
SENTENCE = "has version {} of the `{}` table, but this turnetl reads version {}: {}"
OLDER = (
    "name a new lake with --lake, and run `turnetl parse` again. Keep this lake: it may hold turns "
    "whose archives are gone, its journal responses that were paid for, and an embedded graph; an "
    "older turnetl reads it."
)
OLDER_EPISODES = "move it away, and `turnetl filter` makes it again from the turns."
NEWER = (
    "a newer turnetl wrote it: update turnetl, for example with `pip install -U turnetl`. Keep the "
    "lake as it is."
)


def lake_of_version(root: Path, version: int) -> Lake:
    lake = Lake(root)
    rows = frames.turns(builders.turn()).collect()
    lake.write_turns(rows, replace(metadata(), schema=version))
    return lake


@pytest.mark.parametrize("version", OTHER_VERSIONS)
def test_a_turns_file_of_another_version_is_rejected(tmp_path: Path, version: int) -> None:
    lake = lake_of_version(tmp_path / "lake", version)
    remedy = NEWER if version > schema.TURNS.version else OLDER
    sentence = SENTENCE.format(version, "turns", schema.TURNS.version, remedy)
    for read in (lake.turn_files, lake.check_version, lambda: lake.scan_turns(SHOP)):
        with pytest.raises(Fatal) as raised:
            read()
        assert str(raised.value) == f"`{lake.turn_paths()[0]}` {sentence}"


def test_a_turns_file_with_the_columns_and_metadata_of_an_older_version_is_rejected(
    tmp_path: Path,
) -> None:
    path = tmp_path / "lake" / "turns" / "shop" / "0.parquet"
    path.parent.mkdir(parents=True)
    pl.DataFrame({"tools": [[]]}).write_parquet(path, metadata={METADATA_KEY: '{"schema": 1}'})
    with pytest.raises(Fatal, match="has version 1 of the `turns` table"):
        Lake(tmp_path / "lake").turn_files()
    with pytest.raises(Fatal, match="has version 1 of the `turns` table"):
        Lake(tmp_path / "lake").scan_turns(SHOP)


def test_archives_are_not_parsed_into_a_lake_of_another_version(tmp_path: Path) -> None:
    lake = lake_of_version(tmp_path / "lake", 1)
    archive = tmp_path / "new.jsonl"
    archive.write_text("{}")
    before = [path.read_bytes() for path in lake.turn_paths()]
    for dry_run in (False, True):
        with pytest.raises(Fatal, match="name a new lake with --lake"):
            parsing.parse_archives([archive], lake, redactor=NoRedactor(), dry_run=dry_run)
    assert [path.read_bytes() for path in lake.turn_paths()] == before


@pytest.mark.parametrize("stored", [{}, {"schema": "3"}], ids=["no version", "version 3"])
def test_an_episodes_table_of_another_version_is_rejected(
    tmp_path: Path, stored: dict[str, str]
) -> None:
    lake = Lake(tmp_path)
    row = asdict(builders.episode())
    rows = pl.DataFrame([row.pop("turn") | row], schema=schema.EPISODES.polars)
    lake.episodes_folder.mkdir()
    path = lake.episodes_folder / "shop.parquet"
    rows.write_parquet(path, metadata={METADATA_KEY: json.dumps(stored | {"rules": "1"})})
    version, now = stored.get("schema", "0"), schema.EPISODES.version
    sentence = SENTENCE.format(version, "episodes", now, OLDER_EPISODES)
    for read in (lake.episodes_metadata, lake.scan_episodes, lake.episodes):
        with pytest.raises(Fatal) as raised:
            read(SHOP)
        assert str(raised.value) == f"`{path}` {sentence}"
