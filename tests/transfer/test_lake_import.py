"""Turns files of another machine's lake, added to a lake."""

import shutil
from dataclasses import replace
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cli.archives import conversation, write_archive
from tests.cli.provider_setup import SESSION_START
from tests.fakes.redactors import NoRedactor, WordRedactor
from tests.printed import printed as printed_view
from tests.transfer.lakes import contents, imported, lake_of
from turnetl import episodes
from turnetl.base import schema
from turnetl.base.errors import BadUsage, Fatal
from turnetl.base.model import GroupId, SessionId
from turnetl.lake import Lake
from turnetl.lake.forgotten import NOTHING, write_forgotten
from turnetl.parsing import Grouping, parse_archives
from turnetl.transfer.lake_import import import_lake
from turnetl.transfer.transfer_report import ImportOutcome, ImportReport
from turnetl.views.export import import_view

SHOP = GroupId("shop")


def test_all_turns_are_added_with_the_machine_before_their_archives(
    source: Lake, lake: Lake
) -> None:
    report = imported(source, lake)
    assert report.added == 4
    before, after = source.scan_turns(SHOP).collect(), lake.scan_turns(SHOP).collect()
    assert after["archive"].str.starts_with("laptop:/").all()
    order = ["session_id", "ordinal"]
    plain = after.with_columns(pl.col("archive").str.strip_prefix("laptop:"))
    assert plain.sort(order).equals(before.sort(order))
    assert {file.metadata.machine for file in lake.turn_files()} == {"laptop"}


def test_a_second_import_writes_nothing(source: Lake, lake: Lake) -> None:
    imported(source, lake)
    before = {path: path.stat().st_mtime_ns for path in lake.turn_paths()}
    again = imported(source, lake)
    assert again.added == 0
    assert {file.outcome for file in again.files} == {ImportOutcome.UNCHANGED}
    assert {path: path.stat().st_mtime_ns for path in lake.turn_paths()} == before


def test_the_other_lake_is_only_read(source: Lake, lake: Lake) -> None:
    before = contents(source)
    imported(source, lake)
    assert contents(source) == before


def test_new_turns_of_the_other_lake_are_added_by_the_next_import(
    source: Lake, lake: Lake, tmp_path: Path
) -> None:
    imported(source, lake)
    rows = conversation("Add a cart", "Test it", "Ship it", session="s1", at=SESSION_START)
    path = write_archive(tmp_path / "other" / "archives" / "s1.jsonl", rows)
    parse_archives([path], source, redactor=NoRedactor())
    report = imported(source, lake)
    assert report.added == 1
    assert lake.count_turns(SHOP) == 5


def test_turns_that_both_machines_hold_are_copies(tmp_path: Path) -> None:
    lake, source = lake_of(tmp_path, "s1"), lake_of(tmp_path / "other", "s1", "s2")
    imported(source, lake)
    episodes.build(lake, [SHOP])
    table = lake.scan_episodes(SHOP).collect()
    assert dict(table.group_by("session_id").agg(pl.col("copies").max()).iter_rows()) == {
        "s1": 1,
        "s2": 0,
    }
    assert table.height == 4


def test_a_parse_of_this_machine_and_an_import_do_not_replace_each_other(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, "s1")
    own = contents(lake)
    other = Lake(tmp_path / "copy")
    shutil.copytree(lake.root, other.root)
    imported(other, lake)
    assert contents(lake).items() > own.items()
    archive = tmp_path / "archives" / "s1.jsonl"
    report = parse_archives([archive], lake, redactor=NoRedactor())
    assert [one.outcome for one in report.archives] == ["unchanged"]
    assert len(lake.turn_paths()) == 2


def test_what_an_earlier_import_held_stays(source: Lake, lake: Lake, tmp_path: Path) -> None:
    imported(source, lake)
    smaller = lake_of(tmp_path / "again", "s3")
    path = source.turn_paths()[0]
    rows = source.read_turns_file(path)
    metadata = source.archive_metadata(path)
    assert metadata is not None
    subset = Lake(tmp_path / "subset")
    counts = {**metadata.counts, "turns": 1}
    subset.write_turns(rows[:1], replace(metadata, counts=counts), digest=path.stem)
    report = imported(subset, lake)
    assert report.added == 0
    assert lake.count_turns(SHOP) == 4
    assert imported(smaller, lake).added == 2


def test_turns_that_came_from_a_third_machine_keep_its_name(tmp_path: Path) -> None:
    third, second = lake_of(tmp_path / "third", "s1"), Lake(tmp_path / "second")
    imported(third, second, "desktop")
    first = Lake(tmp_path / "first")
    imported(second, first, "laptop")
    assert {file.metadata.machine for file in first.turn_files()} == {"desktop"}
    imported(third, first, "desktop")
    assert len(first.turn_paths()) == 1


def test_texts_are_redacted_on_the_way_in(tmp_path: Path, lake: Lake) -> None:
    source = lake_of(tmp_path / "other", "s1", prompts=["Use the key hunter2", "Fine"])
    report = import_lake(source, lake, "laptop", redactor=lambda: WordRedactor("hunter2"))
    rows = lake.scan_turns(SHOP).collect()
    assert "hunter2" not in str(rows.to_dicts())
    assert sum(file.redactions for file in report.files) > 0
    again = import_lake(source, lake, "laptop", redactor=lambda: WordRedactor("hunter2"))
    assert {file.outcome for file in again.files} == {ImportOutcome.UNCHANGED}


def test_a_forgotten_turn_does_not_come_back(source: Lake, lake: Lake) -> None:
    first = source.scan_turns(SHOP).collect().row(0, named=True)
    write_forgotten(lake.files, NOTHING.extended([(SHOP, first["turn_id"])]))
    imported(source, lake)
    assert first["turn_id"] not in lake.scan_turns(SHOP).collect()["turn_id"].to_list()
    assert lake.count_turns(SHOP) == 3


class DyingLake(Lake):
    """A lake whose process ends when it has begun to write one turns file."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._writes = count()

    def write_turns(self, *arguments: Any, **options: Any) -> Path:
        if next(self._writes):
            raise KeyboardInterrupt
        return super().write_turns(*arguments, **options)


def test_an_import_that_was_killed_is_completed_by_its_repetition(
    source: Lake, tmp_path: Path
) -> None:
    undisturbed, lake = Lake(tmp_path / "undisturbed"), Lake(tmp_path / "lake")
    imported(source, undisturbed)
    with pytest.raises(KeyboardInterrupt):
        imported(source, DyingLake(lake.root))
    assert len(lake.turn_paths()) == 1
    report = imported(source, lake)
    assert [file.outcome for file in report.files].count(ImportOutcome.NEW) == 1
    assert contents(lake) == contents(undisturbed)


def test_a_dry_run_writes_nothing(source: Lake, lake: Lake) -> None:
    report = import_lake(source, lake, "laptop", redactor=NoRedactor, dry_run=True)
    assert report.added == 4
    assert not lake.root.exists()


def test_a_damaged_file_is_named_and_the_others_are_imported(source: Lake, lake: Lake) -> None:
    path = source.turn_paths()[0]
    data = bytearray(path.read_bytes())
    data[40] ^= 0xFF
    path.write_bytes(data)
    report = imported(source, lake)
    (damaged,) = report.damaged
    assert str(path) in str(damaged.problem)
    assert lake.count_turns(SHOP) == 2


@pytest.mark.parametrize(("version", "which"), [(99, "this machine"), (1, "other machine")])
def test_a_lake_of_another_schema_is_refused(
    version: int, which: str, source: Lake, lake: Lake
) -> None:
    path = source.turn_paths()[0]
    metadata = source.archive_metadata(path)
    assert metadata is not None
    rows = source.read_turns_file(path)
    source.write_turns(rows, replace(metadata, schema=version), digest=path.stem)
    assert schema.TURNS.version != version
    with pytest.raises(Fatal, match=f"version {version}.*update turnetl on (the )?{which}"):
        imported(source, lake)
    assert not lake.turn_paths()


@pytest.mark.parametrize("name", ["", "a b", "../x", "a:b", "-x", "x" * 80, "é"])
def test_a_name_that_cannot_begin_a_path_is_refused(name: str, source: Lake, lake: Lake) -> None:
    with pytest.raises(BadUsage):
        imported(source, lake, name)


def test_without_a_name_a_lake_is_refused(source: Lake, lake: Lake) -> None:
    with pytest.raises(BadUsage, match="--machine"):
        imported(source, lake, None)


def test_a_folder_without_turns_is_refused(tmp_path: Path, lake: Lake) -> None:
    with pytest.raises(BadUsage, match="holds no turns"):
        imported(Lake(tmp_path), lake)


def test_the_lake_itself_is_refused(source: Lake) -> None:
    with pytest.raises(BadUsage, match="the lake itself"):
        imported(source, Lake(source.root))


def regrouped(folder: Path, group: str) -> Lake:
    """Return the lake of `lake_of` parsed again, into another group."""
    lake = Lake(folder / "lake")
    shutil.rmtree(lake.root)
    parse_archives(
        sorted((folder / "archives").iterdir()),
        lake,
        redactor=NoRedactor(),
        grouping=Grouping(group),
    )
    return lake


def test_after_the_other_machine_changed_a_group_the_turns_are_in_the_new_one_only(
    source: Lake, lake: Lake, tmp_path: Path
) -> None:
    imported(source, lake)
    own = lake_of(tmp_path / "own", "s9").turn_paths()[0]
    shutil.copy(own, lake.turn_paths()[0].parent)
    again = imported(regrouped(tmp_path / "other", "store"), lake)
    assert again.added == 0
    assert {file.outcome for file in again.files} == {ImportOutcome.CHANGED}
    assert lake.count_turns(GroupId("store")) == 4
    assert [path.name for path in lake.turn_paths(SHOP)] == [own.name]
    assert {file.outcome for file in imported(source, lake).files} == {ImportOutcome.UNCHANGED}


def test_forgotten_turns_that_are_left_out_are_counted(source: Lake, lake: Lake) -> None:
    first = source.scan_turns(SHOP).collect().row(0, named=True)
    write_forgotten(lake.files, NOTHING.extended([(SHOP, first["turn_id"])]))
    assert imported(source, lake).forgotten == 1


def test_a_changed_turn_asks_for_the_next_stages_although_none_is_added(
    source: Lake, lake: Lake
) -> None:
    imported(source, lake)
    changed, same = (
        import_lake(source, lake, "laptop", redactor=lambda: WordRedactor("cart")) for _ in range(2)
    )
    assert (changed.added, changed.changes_tables) == (0, True)
    assert "turnetl ingest" in printed(changed)
    assert "turnetl ingest" not in printed(same)


def rewritten(source: Lake, metadata: dict[str, Any], **columns: Any) -> None:
    """Change metadata and columns of the first file of the other lake; the texts stay."""
    path = source.turn_paths()[0]
    before = source.archive_metadata(path)
    assert before is not None
    types = schema.TURNS.polars
    values = {name: pl.lit(value).cast(types[name]) for name, value in columns.items()}
    rows = source.read_turns_file(path).with_columns(**values)
    source.write_turns(rows, replace(before, **metadata), digest=path.stem)


@pytest.mark.parametrize(
    "columns",
    [
        {"model": "opus-9"},
        {"git_branch": "release"},
        {"input_tokens": 77},
        {"started_at": SESSION_START - timedelta(days=1)},
        {"app_version": "9.9"},
    ],
    ids=lambda columns: next(iter(columns)),
)
def test_a_column_that_the_other_machine_read_anew_replaces_the_earlier_one(
    columns: dict[str, Any], source: Lake, lake: Lake
) -> None:
    imported(source, lake)
    rewritten(source, {}, **columns)
    outcomes = [file.outcome for file in imported(source, lake).files]
    assert outcomes == [ImportOutcome.CHANGED, ImportOutcome.UNCHANGED]
    order = ["session_id", "ordinal"]
    expected, found = (one.scan_turns(SHOP).collect().sort(order) for one in (source, lake))
    assert found.drop("archive").equals(expected.drop("archive"))


def test_a_new_version_of_the_reader_is_a_change_although_the_rows_are_equal(
    source: Lake, lake: Lake
) -> None:
    imported(source, lake)
    rewritten(source, {"reader_version": 99})
    outcomes = [file.outcome for file in imported(source, lake).files]
    assert outcomes == [ImportOutcome.CHANGED, ImportOutcome.UNCHANGED]
    assert 99 in {file.metadata.reader_version for file in lake.turn_files()}


def test_files_that_new_rules_leave_as_they_are_have_the_version_of_these_rules(
    source: Lake, lake: Lake
) -> None:
    imported(source, lake)
    first, second = (
        import_lake(source, lake, "laptop", redactor=lambda: NoRedactor("2")) for _ in range(2)
    )
    assert {file.outcome for file in first.files} == {ImportOutcome.CHANGED}
    assert {file.outcome for file in second.files} == {ImportOutcome.UNCHANGED}
    assert {file.metadata.redactor_version for file in lake.turn_files()} == {"2"}


def test_turns_that_only_an_earlier_import_had_are_redacted_with_the_rules_of_the_later_one(
    tmp_path: Path, lake: Lake
) -> None:
    source = lake_of(tmp_path / "other", "s1", prompts=["Add a cart", "The key is hunter2"])
    imported(source, lake)
    (path,) = source.turn_paths()
    metadata = source.archive_metadata(path)
    assert metadata is not None
    rows = source.read_turns_file(path).filter(pl.col("user_text") == "Add a cart")
    counts = {**metadata.counts, "turns": rows.height}
    source.write_turns(rows, replace(metadata, counts=counts), digest=path.stem)
    first, second = (
        import_lake(source, lake, "laptop", redactor=lambda: WordRedactor("hunter2", "2"))
        for _ in range(2)
    )
    table = lake.scan_turns(SHOP).collect()
    assert table["user_text"].to_list() == ["Add a cart", "The key is [cut]"]
    assert set(table["archive"]) == {first.files[0].archive}
    assert "hunter2" not in str(table.to_dicts())
    assert first.files[0].redactions == table["redactions"].sum() > 0
    assert [second.files[0].outcome, second.added] == [ImportOutcome.UNCHANGED, 0]


def test_a_session_that_was_forgotten_by_its_redacted_id_does_not_come_back(
    tmp_path: Path, lake: Lake
) -> None:
    source = lake_of(tmp_path / "other", "hunter2")
    write_forgotten(lake.files, NOTHING.extended([], [SessionId("[cut]")]))
    report = import_lake(source, lake, "laptop", redactor=lambda: WordRedactor("hunter2"))
    assert (report.forgotten, report.added) == (2, 0)


def test_files_are_reported_by_path_and_progress_ends_at_its_total(
    source: Lake, lake: Lake, tmp_path: Path
) -> None:
    last = source.turn_paths()[-1]
    last.symlink_to(last.rename(tmp_path / "elsewhere.parquet"))
    progress: list[tuple[int, int]] = []
    report = import_lake(
        source,
        lake,
        "laptop",
        redactor=NoRedactor,
        progress=lambda done, total: progress.append((done, total)),
    )
    assert [file.outcome for file in report.files] == [ImportOutcome.NEW, ImportOutcome.DAMAGED]
    assert progress == [(1, 1)]


def printed(report: ImportReport) -> str:
    return printed_view(import_view(report), 120)
