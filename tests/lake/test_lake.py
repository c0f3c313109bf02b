"""The lake: atomic writes, and only tables with the columns of the schema."""

from dataclasses import asdict
from pathlib import Path

import polars as pl
import pytest

from tests import builders
from turnetl import lake as lakes
from turnetl.base import schema
from turnetl.base.errors import Fatal
from turnetl.base.model import Episode, GroupId, Turn
from turnetl.lake import ArchiveMetadata, Lake
from turnetl.lake.parquet_writer import write_table

SHOP = builders.GROUP


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "lake")


def turns_frame(*turns: Turn) -> pl.DataFrame:
    return pl.DataFrame([asdict(turn) for turn in turns], schema=schema.TURNS.polars)


def episodes_frame(*episodes: Episode) -> pl.DataFrame:
    rows = []
    for episode in episodes:
        row = asdict(episode)
        rows.append(row.pop("turn") | row)
    return pl.DataFrame(rows, schema=schema.EPISODES.polars)


def metadata(archive: str = "s1.jsonl", group: GroupId = SHOP) -> ArchiveMetadata:
    return ArchiveMetadata(
        archive=archive,
        size=900,
        mtime_ns=1_772_442_000_000_000_001,
        sha256="0" * 64,
        format="claude_code",
        reader_version=1,
        redactor_version="1",
        group=group,
        group_is_explicit=False,
        counts={"lines": 4, "skipped": {"meta": 1}},
    )


FULL = builders.turn(
    "full",
    steering=("and the tests",),
    user_answers=("two digits",),
    subagent_prompts=("Read it.",),
    tool_calls=(builders.tool("Bash", "pytest -q", "1 failed", is_error=True),),
)
BARE = builders.turn(
    "bare", started_at=None, ended_at=None, closed=False, closed_by=None, cwd=None, model=None
)


def test_turns_are_read_as_they_were_written(lake: Lake) -> None:
    lake.write_turns(turns_frame(FULL, BARE), metadata())
    assert list(lake.turns(SHOP)) == [FULL, BARE]


def test_a_turns_file_records_its_archive(lake: Lake) -> None:
    path = lake.write_turns(turns_frame(FULL), metadata())
    (file,) = lake.turn_files()
    assert file.path == path
    assert file.metadata == metadata()


def test_an_empty_archive_has_a_turns_file_too(lake: Lake) -> None:
    lake.write_turns(turns_frame(), metadata())
    assert len(lake.turn_files()) == 1
    assert list(lake.turns(SHOP)) == []


def test_an_archive_is_replaced_for_every_form_of_its_path(lake: Lake) -> None:
    lake.write_turns(turns_frame(FULL), metadata("s1.jsonl"))
    lake.write_turns(turns_frame(BARE), metadata("./x/../s1.jsonl"))
    assert list(lake.turns(SHOP)) == [BARE]


def test_an_archive_that_changes_its_group_leaves_no_file(lake: Lake) -> None:
    lake.write_turns(turns_frame(FULL), metadata())
    lake.write_turns(turns_frame(FULL), metadata(group=GroupId("till")))
    assert lake.groups() == ["till"]
    assert lake.turn_paths(SHOP) == []


def test_a_caller_may_name_the_previous_files_of_an_archive(lake: Lake) -> None:
    before = lake.write_turns(turns_frame(FULL), metadata())
    digest = lakes.archive_digest(Path("s1.jsonl"))
    till = metadata(group=GroupId("till"))
    lake.write_turns(turns_frame(FULL), till, digest=digest, previous_files=[])
    assert lake.groups() == ["shop", "till"]
    after = lake.write_turns(turns_frame(FULL), till, digest=digest, previous_files=[before])
    assert lake.turn_paths() == [after]


def test_a_missing_lake_can_be_synced(lake: Lake) -> None:
    lake.sync_turns()
    assert not lake.root.exists()


def test_files_that_turnetl_did_not_write_have_no_metadata(lake: Lake) -> None:
    folder = lake.root / "turns" / "shop"
    folder.mkdir(parents=True)
    turns_frame(FULL).write_parquet(folder / "foreign.parquet")
    (folder / "torn.parquet").write_bytes(b"PAR1")
    assert lake.turn_files() == []


def test_the_same_table_gives_the_same_bytes(lake: Lake) -> None:
    path = lake.write_turns(turns_frame(FULL, BARE), metadata())
    before = path.read_bytes()
    lake.write_turns(turns_frame(FULL, BARE), metadata())
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("invalid", "message"),
    [
        (turns_frame(FULL).drop("chars"), "lacks the column `chars`"),
        (turns_frame(FULL).cast({"chars": pl.String}), "has `chars` as String instead of Int64"),
        (
            turns_frame(FULL).with_columns(extra=1),
            "has a column `extra` that the table `turns` lacks",
        ),
        (
            turns_frame(FULL).select(pl.all().reverse()).select("chars", pl.exclude("chars")),
            "order",
        ),
    ],
)
def test_a_table_with_other_columns_is_neither_written_nor_read(
    lake: Lake, invalid: pl.DataFrame, message: str
) -> None:
    path = lake.write_turns(turns_frame(FULL), metadata())
    with pytest.raises(Fatal, match=message):
        lake.write_turns(invalid, metadata())
    assert list(lake.turns(SHOP)) == [FULL]
    invalid.write_parquet(path)
    with pytest.raises(Fatal, match=message) as caught:
        lake.scan_turns(SHOP)
    assert str(path) in str(caught.value)


def test_a_truncated_file_is_named(lake: Lake) -> None:
    path = lake.write_turns(turns_frame(FULL), metadata())
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(Fatal, match="is damaged") as caught:
        lake.scan_turns(SHOP)
    assert str(path) in str(caught.value)


def test_a_lake_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "lake").write_text("a file where the lake should be")
    with pytest.raises(Fatal, match="cannot be written"):
        Lake(tmp_path / "lake").write_turns(turns_frame(FULL), metadata())


def test_a_rejected_write_leaves_no_temporary_file(lake: Lake) -> None:
    path = lake.write_turns(turns_frame(FULL), metadata())
    with pytest.raises(Fatal):
        lake.write_turns(turns_frame(FULL).drop("chars"), metadata())
    assert list(path.parent.iterdir()) == [path]


def test_episodes_are_read_in_table_order(lake: Lake) -> None:
    late, early = builders.episode("late"), builders.episode("early", noise="too_short")
    lake.write_episodes(SHOP, [episodes_frame(late, early)], lambda: {"rules": "1"})
    assert list(lake.episodes(SHOP)) == [late, early]
    assert list(lake.episodes(SHOP, {early.turn_id})) == [early]
    assert list(lake.episodes(SHOP, set())) == []
    assert lake.episodes_metadata(SHOP) == {"rules": "1"}


def test_a_table_written_in_slices_is_the_same_table(lake: Lake) -> None:
    rows = episodes_frame(*(builders.episode(str(number)) for number in range(50)))
    lake.write_episodes(SHOP, [rows], lambda: {"rules": "1"})
    table = lake.scan_episodes(SHOP).collect()
    calls: list[int] = []

    def stored_metadata() -> dict[str, str]:
        calls.append(1)
        return {"rules": "2"}

    slices = (rows[start : start + 20] for start in (0, 20, 40))
    lake.write_episodes(SHOP, slices, stored_metadata)
    assert lake.scan_episodes(SHOP).collect().equals(table)
    assert lake.episodes_metadata(SHOP) == {"rules": "2"}
    assert calls == [1]


def test_a_single_slice_gives_the_bytes_of_the_whole_table(lake: Lake) -> None:
    rows = episodes_frame(*(builders.episode(str(number)) for number in range(50)))
    path = lake.episodes_folder / f"{SHOP}.parquet"
    version = schema.EPISODES.version
    metadata = f'{{"rules":"1","schema":"{version}"}}'
    write_table(path, rows, schema.EPISODES, metadata, lake.files.replace)
    before = path.read_bytes()
    lake.write_episodes(SHOP, iter([rows]), lambda: {"rules": "1"})
    assert path.read_bytes() == before


def test_an_invalid_slice_leaves_the_table_unchanged(lake: Lake) -> None:
    rows = episodes_frame(*(builders.episode(str(number)) for number in range(9)))
    lake.write_episodes(SHOP, [rows], lambda: {"rules": "1"})
    slices = iter([rows[:3], rows[3:6], rows[6:].drop("chars")])
    with pytest.raises(Fatal, match="lacks the column `chars`"):
        lake.write_episodes(SHOP, slices, dict)
    assert lake.scan_episodes(SHOP).collect().equals(rows)
    assert len(list(lake.episodes_folder.iterdir())) == 1


def test_a_group_without_a_table_has_no_episodes(lake: Lake) -> None:
    assert lake.episodes_metadata(SHOP) is None
    assert list(lake.episodes(SHOP)) == []
    assert list(lake.turns(SHOP)) == []
    assert lake.groups() == []
    assert not lake.root.exists()


def test_groups_are_those_with_turns_and_those_with_episodes(lake: Lake) -> None:
    lake.write_turns(turns_frame(FULL), metadata())
    lake.write_episodes(GroupId("till"), [episodes_frame()], dict)
    assert lake.groups() == ["shop", "till"]


def test_an_episodes_file_that_turnetl_did_not_write_has_no_metadata(lake: Lake) -> None:
    lake.write_episodes(SHOP, [episodes_frame()], lambda: {"rules": "1"})
    episodes_frame().write_parquet(lake.root / "episodes" / "shop.parquet")
    assert lake.episodes_metadata(SHOP) == {}


def test_an_archive_has_one_digest_for_every_path_to_it(tmp_path: Path) -> None:
    real = tmp_path / "real" / "s.jsonl"
    real.parent.mkdir()
    real.touch()
    (tmp_path / "folder").symlink_to(real.parent)
    (tmp_path / "link.jsonl").symlink_to(real)
    paths = [
        real,
        tmp_path / "folder" / "s.jsonl",
        tmp_path / "link.jsonl",
        tmp_path / "folder" / ".." / "real" / "s.jsonl",
    ]
    assert lakes.archive_digests(paths) == [lakes.archive_digest(real)] * 4


def test_a_digest_does_not_depend_on_the_form_of_the_path(tmp_path: Path) -> None:
    assert lakes.archive_digest(tmp_path / "a") == lakes.archive_digest(tmp_path / "b" / ".." / "a")
    assert lakes.archive_digest(tmp_path / "a") != lakes.archive_digest(tmp_path / "b")
