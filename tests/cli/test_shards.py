"""Shards, in any order, repeated or of several counts, make the lake and graph of one machine."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.command import run_in_process
from tests.cli.sharded import PROJECTS, LakeAndGraph, assert_equal, write_projects, write_session

pytestmark = pytest.mark.full

Result = tuple[Mapping[str, bytes], list[str]]


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_projects(tmp_path_factory.mktemp("archives"))


@pytest.fixture(scope="module")
def one_machine(archives: Path, tmp_path_factory: pytest.TempPathFactory) -> LakeAndGraph:
    place = LakeAndGraph(tmp_path_factory.mktemp("one"))
    place.run("backfill", archives)
    return place


@pytest.fixture(scope="module")
def expected(one_machine: LakeAndGraph) -> Result:
    return one_machine.tables(), one_machine.contents()


@pytest.fixture
def place(one_machine: LakeAndGraph, tmp_path: Path) -> LakeAndGraph:
    return LakeAndGraph(tmp_path).with_key_of(one_machine)


@pytest.mark.parametrize(
    "order",
    [
        ("1/3", "2/3", "3/3"),
        ("3/3", "1/3", "1/3", "2/3", "3/3"),
        ("2/2", "1/5", "1/2"),
    ],
)
def test_a_backfill_in_shards_in_any_order_makes_what_one_machine_makes(
    order: tuple[str, ...], archives: Path, place: LakeAndGraph, expected: Result
) -> None:
    for shard in order:
        place.run("backfill", archives, "--shard", shard)
    assert_equal(place, expected)


def test_each_shard_ingests_its_groups_and_reports_no_other(
    archives: Path, place: LakeAndGraph
) -> None:
    reported = []
    for shard in ("1/3", "2/3", "3/3"):
        result = place.run("backfill", archives, "--shard", shard, "--json").json
        reported += [group["group"] for group in result["groups"]]
        committed = sum(group["committed"] for group in result["groups"])
        assert result["committed"] == committed
    assert sorted(reported) == sorted(PROJECTS)


def test_the_first_shard_parses_what_the_others_did_not_and_they_parse_nothing(
    archives: Path, place: LakeAndGraph
) -> None:
    first, second = (
        place.run("backfill", archives, "--shard", shard, "--json").json["parsed"]["archives"]
        for shard in ("1/2", "2/2")
    )
    assert first["new"] == 2 * len(PROJECTS)
    assert (second["new"], second["changed"]) == (0, 0)
    assert 0 < second["unchanged"] < 2 * len(PROJECTS)


def test_the_stages_in_shards_of_different_numbers_make_what_one_machine_makes(
    archives: Path, place: LakeAndGraph, expected: Result
) -> None:
    read = [
        place.run("parse", archives, "--shard", shard, "--json").json["archives"]["new"]
        for shard in ("3/3", "1/3", "2/3")
    ]
    assert sum(read) == 2 * len(PROJECTS)
    for shard in ("2/2", "1/2", "2/2"):
        place.run("filter", "--shard", shard)
    for shard in ("4/4", "2/4", "1/4", "3/4"):
        place.run("ingest", "--shard", shard)
    assert_equal(place, expected)


def test_archives_that_change_in_all_ways_make_what_one_machine_makes(tmp_path: Path) -> None:
    archives = write_projects(tmp_path / "archives")
    one, many = LakeAndGraph(tmp_path / "one"), LakeAndGraph(tmp_path / "many")
    one.lake.mkdir(parents=True)
    for change in (_nothing, _continue_sessions, _lose_turns, _move_groups, _remove_archives):
        options = change(archives)
        one.run("backfill", archives, *options)
        if not many.lake.exists():
            many.with_key_of(one)
        for shard in ("2/3", "3/3", "1/3"):
            many.run("backfill", archives, *options, "--shard", shard)
        assert_equal(many, (one.tables(), one.contents()))


def _nothing(_: Path) -> tuple[str, ...]:
    return ()


def _continue_sessions(archives: Path) -> tuple[str, ...]:
    write_session(archives, "shop", "one", 6)
    write_session(archives, "loft", "one", 2)
    return ()


def _lose_turns(archives: Path) -> tuple[str, ...]:
    """Cut an archive short: its turns stay in the lake."""
    write_session(archives, "kitchen", "two", 1)
    return ()


def _move_groups(archives: Path) -> tuple[str, ...]:
    """Move the archives of a project to a new group, and of another one to that of a third."""
    groups = archives / "groups.toml"
    groups.write_text(
        '[[group]]\nname = "flat"\nfolders = ["~/attic"]\n'
        '[[group]]\nname = "shop"\nfolders = ["~/cellar"]\n'
    )
    return ("--group-map", str(groups))


def _remove_archives(archives: Path) -> tuple[str, ...]:
    shutil.rmtree(archives / "garden")
    return ()


@pytest.mark.parametrize("command", ["parse", "filter", "ingest", "backfill", "retry"])
@pytest.mark.parametrize("shard", ["3/2", "0/2", "x"])
def test_what_is_no_shard_is_wrong_usage(command: str, shard: str, tmp_path: Path) -> None:
    archives = ["."] if command in ("parse", "backfill") else []
    result = run_in_process(command, *archives, "--shard", shard, folder=tmp_path)
    assert result.exit_code == 2
    assert result.messages[0].startswith(f"turnetl: `{shard}` is no shard: write its number")
    assert not (tmp_path / ".turnetl").exists()


def test_a_shard_without_archives_and_groups_is_done(tmp_path: Path, place: LakeAndGraph) -> None:
    archive = write_session(tmp_path, "shop", "one", 2)
    results = [place.run("backfill", archive, "--shard", f"{n}/4") for n in range(1, 5)]
    empty = [result.stdout for result in results if "no group belongs" in result.stdout]
    assert len(empty) == 3
    assert "no archives\nno group belongs to this shard\n" in empty


def test_an_archive_that_cannot_be_read_fails_its_shard_only(
    tmp_path: Path, place: LakeAndGraph
) -> None:
    archive = write_session(tmp_path / "archives", "shop", "one", 2)
    (archive.parent / "broken.jsonl.gz").write_bytes(b"\x1f\x8b\x08\x00 no gzip")
    codes = [
        run_in_process(
            *place.arguments("backfill", archive.parent, "--shard", f"{number}/3"),
            folder=tmp_path,
        ).exit_code
        for number in (1, 2, 3)
    ]
    assert sorted(codes) == [0, 0, 1]
