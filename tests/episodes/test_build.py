from datetime import timedelta
from pathlib import Path

import polars as pl

from tests import frames
from tests.builders import GROUP, START, turn
from turnetl import episodes
from turnetl.lake import Lake, Origin
from turnetl.model import GroupId, Turn


def put(lake: Lake, name: str, *turns: Turn, sha256: str = "", redactor: str = "1") -> None:
    origin = Origin(
        archive=name,
        size=1,
        mtime_ns=1,
        sha256=sha256 or name,
        format="claude_code",
        reader=1,
        redactor=redactor,
        group=GROUP,
        fixed=False,
        counts={},
    )
    lake.write_turns(frames.turns(*turns).collect(), origin)


def at(minute: int, name: str, **fields: object) -> Turn:
    return turn(name, started_at=START + timedelta(minutes=minute), **fields)


def table(lake: Lake) -> Path:
    return lake.root / "episodes" / f"{GROUP}.parquet"


def test_every_turn_is_kept_or_counted_under_its_rule(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    thanks = at(2, "p2", user_text="thanks", assistant_text="Sure.", chars=11)
    put(lake, "a.jsonl", at(0, "p0"), at(1, "p1", assistant_text="Another."), thanks)
    put(lake, "b.jsonl", at(0, "p0", archive="b.jsonl"))
    (report,) = episodes.build(lake, [GROUP]).groups
    assert report.noise == (episodes.NoiseCount("acknowledgement", 1, 11),)
    assert (report.turns, report.kept, report.copies, report.skipped) == (3, 2, 1, False)
    assert report.chars_before == 96 + 96 + 11
    kept = lake.scan_episodes(GROUP).filter(pl.col("noise").is_null()).collect()
    assert report.chars_after == kept["text"].str.len_chars().sum()
    assert report.tokens == kept["tokens"].sum()


def test_what_did_not_change_is_neither_read_nor_written(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put(lake, "a.jsonl", at(0, "p0"))
    (first,) = episodes.build(lake, [GROUP]).groups
    before = table(lake).stat()
    (again,) = episodes.build(lake, [GROUP]).groups
    assert again.skipped
    assert (again.turns, again.kept, again.tokens) == (first.turns, first.kept, first.tokens)
    assert table(lake).stat().st_mtime_ns == before.st_mtime_ns
    assert table(lake).stat().st_ino == before.st_ino


def test_an_archive_that_grew_makes_the_table_anew(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put(lake, "a.jsonl", at(0, "p0"))
    episodes.build(lake, [GROUP])
    put(lake, "a.jsonl", at(0, "p0"), at(1, "p1"), sha256="grown")
    (report,) = episodes.build(lake, [GROUP]).groups
    assert not report.skipped
    assert report.turns == lake.scan_episodes(GROUP).collect().height == 2


def test_force_makes_the_table_anew_with_the_same_bytes(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put(lake, "a.jsonl", at(0, "p0"), at(1, "p1"))
    episodes.build(lake, [GROUP])
    before = table(lake).read_bytes()
    (report,) = episodes.build(lake, [GROUP], force=True).groups
    assert not report.skipped
    assert table(lake).read_bytes() == before


def test_whichever_archive_came_first_the_bytes_are_the_same(tmp_path: Path) -> None:
    archives = {
        "a.jsonl": [at(0, "p0"), at(1, "p1")],
        "b.jsonl": [at(0, "p0", archive="b.jsonl"), at(2, "p2", archive="b.jsonl")],
    }
    written = []
    for number, names in enumerate((["a.jsonl", "b.jsonl"], ["b.jsonl", "a.jsonl"])):
        lake = Lake(tmp_path / str(number))
        for name in names:
            put(lake, name, *archives[name])
        episodes.build(lake, [GROUP])
        written.append(table(lake).read_bytes())
    assert written[0] == written[1]


def test_a_group_without_turns_gives_an_empty_table(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    report = episodes.build(lake, [GroupId("nobody")])
    assert (report.turns, report.kept, report.tokens) == (0, 0, 0)


def test_progress_is_told_after_each_group(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    groups = [GroupId("a"), GroupId("b")]
    episodes.build(Lake(tmp_path), groups, progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 2), (2, 2)]


def test_turns_whose_secrets_were_cut_by_other_rules_are_rendered_again(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put(lake, "a.jsonl", at(0, "one", user_text="the word is sesame"))
    episodes.build(lake, [GROUP])
    assert episodes.is_current(lake, GROUP, lake.turn_files(GROUP))
    put(lake, "a.jsonl", at(0, "one", user_text="the word is [cut]"), redactor="2")
    assert not episodes.is_current(lake, GROUP, lake.turn_files(GROUP))
    (report,) = episodes.build(lake, [GROUP]).groups
    assert not report.skipped
    assert "sesame" not in "".join(one.text for one in lake.episodes(GROUP))
