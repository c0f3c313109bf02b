import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

from tests import frames
from tests.builders import GROUP, START, turn
from turnetl import episodes, noise
from turnetl.base import schema
from turnetl.base.errors import Fatal
from turnetl.base.model import ClosedBy, GroupId, MessageUsage, ToolCall, Turn
from turnetl.episodes import Filters
from turnetl.episodes.table import INPUTS, RENDERED, episode_rows
from turnetl.lake import ArchiveMetadata, Lake


def put(lake: Lake, name: str, *turns: Turn, sha256: str = "", redactor: str = "1") -> None:
    origin = ArchiveMetadata(
        archive=name,
        size=1,
        mtime_ns=1,
        sha256=sha256 or name,
        format="claude_code",
        reader_version=1,
        redactor_version=redactor,
        group=GROUP,
        group_is_explicit=False,
        counts={},
    )
    lake.write_turns(frames.turns(*turns).collect(), origin)


def at(minute: int, name: str, **fields: object) -> Turn:
    return turn(name, started_at=START + timedelta(minutes=minute), **fields)


def unique_turn(minute: int, answer: str = "It is done now.") -> Turn:
    """A turn with a unique prompt."""
    return at(minute, f"p{minute}", user_text=f"Please see to {minute}.", assistant_text=answer)


def table(lake: Lake) -> Path:
    return lake.root / "episodes" / f"{GROUP}.parquet"


def test_every_turn_is_kept_or_counted_under_its_rule(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    thanks = at(2, "p2", user_text="thanks", assistant_text="Sure.", chars=11)
    put(lake, "a.jsonl", at(0, "p0"), at(1, "p1", assistant_text="Another."), thanks)
    put(lake, "b.jsonl", at(0, "p0", archive="b.jsonl"))
    (report,) = episodes.build(lake, [GROUP]).groups
    assert report.noise == (episodes.NoiseCount("acknowledgement", 1, 11),)
    assert (report.turns, report.kept, report.copies, report.unchanged) == (3, 2, 1, False)
    assert report.chars_before == 96 + 96 + 11
    kept = lake.scan_episodes(GROUP).filter(pl.col("noise").is_null()).collect()
    assert report.chars_after == kept["text"].str.len_chars().sum()
    assert report.tokens == kept["tokens"].sum()


def test_an_unchanged_group_is_neither_read_nor_written(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put(lake, "a.jsonl", at(0, "p0"))
    (first,) = episodes.build(lake, [GROUP]).groups
    before = table(lake).stat()
    (again,) = episodes.build(lake, [GROUP]).groups
    assert again.unchanged
    assert (again.turns, again.kept, again.tokens) == (first.turns, first.kept, first.tokens)
    assert table(lake).stat().st_mtime_ns == before.st_mtime_ns
    assert table(lake).stat().st_ino == before.st_ino


def test_a_grown_archive_rebuilds_the_table(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put(lake, "a.jsonl", at(0, "p0"))
    episodes.build(lake, [GROUP])
    put(lake, "a.jsonl", at(0, "p0"), at(1, "p1"), sha256="grown")
    (report,) = episodes.build(lake, [GROUP]).groups
    assert not report.unchanged
    assert report.turns == lake.scan_episodes(GROUP).collect().height == 2


def test_a_deleted_table_is_rebuilt_with_the_same_bytes(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put(lake, "a.jsonl", at(0, "p0"), at(1, "p1"))
    episodes.build(lake, [GROUP])
    before = table(lake).read_bytes()
    table(lake).unlink()
    (report,) = episodes.build(lake, [GROUP]).groups
    assert not report.unchanged
    assert table(lake).read_bytes() == before


def test_the_bytes_do_not_depend_on_the_order_of_the_archives(tmp_path: Path) -> None:
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


def test_progress_is_reported_after_each_group(tmp_path: Path) -> None:
    calls: list[tuple[int, int]] = []
    groups = [GroupId("a"), GroupId("b")]
    episodes.build(Lake(tmp_path), groups, progress=lambda done, total: calls.append((done, total)))
    assert calls == [(1, 2), (2, 2)]


def test_turns_redacted_by_other_rules_are_rendered_again(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put(lake, "a.jsonl", at(0, "one", user_text="the word is sesame"))
    episodes.build(lake, [GROUP])
    assert episodes.is_current(lake, GROUP, lake.turn_files(GROUP))
    put(lake, "a.jsonl", at(0, "one", user_text="the word is [cut]"), redactor="2")
    assert not episodes.is_current(lake, GROUP, lake.turn_files(GROUP))
    (report,) = episodes.build(lake, [GROUP]).groups
    assert not report.unchanged
    assert "sesame" not in "".join(episode.text for episode in lake.episodes(GROUP))


def done_rule(name: str, answer: str = "Done.") -> noise.NoiseRule:
    """A rule that marks turns with one answer."""
    return noise.NoiseRule(name, 1, "For this test.", pl.col("assistant_text") == answer)


def test_another_rule_changes_only_the_rows_that_it_marks(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put(lake, "a.jsonl", unique_turn(0), unique_turn(1, "Done."), unique_turn(2))
    episodes.build(lake, [GROUP])
    before = lake.scan_episodes(GROUP).collect()
    stricter = Filters(rules=(*noise.RULES, done_rule("done")))
    assert not episodes.is_current(lake, GROUP, lake.turn_files(GROUP), stricter)
    (report,) = episodes.build(lake, [GROUP], filters=stricter).groups
    assert not report.unchanged
    after = lake.scan_episodes(GROUP).collect()
    assert after["noise"].to_list() == [None, "done", None]
    assert after.drop("noise").equals(before.drop("noise"))


def test_another_version_of_a_rule_rebuilds_the_table(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put(lake, "a.jsonl", at(0, "p0"))
    first = Filters(rules=(done_rule("done"),))
    episodes.build(lake, [GROUP], filters=first)
    newer = Filters(rules=(replace(done_rule("done"), version=2),))
    assert not episodes.is_current(lake, GROUP, lake.turn_files(GROUP), newer)
    assert not episodes.build(lake, [GROUP], filters=newer).groups[0].unchanged
    assert episodes.build(lake, [GROUP], filters=newer).groups[0].unchanged


def fewer_or_other_rules() -> list[Filters]:
    newer = replace(noise.RULES[-1], version=noise.RULES[-1].version + 1)
    return [
        Filters(rules=(*noise.RULES, done_rule("done"))),
        Filters(rules=()),
        Filters(rules=(*noise.RULES[:-1], newer)),
        Filters(rules=(done_rule("done"),), one_off=True),
    ]


@pytest.mark.parametrize(
    "filters", fewer_or_other_rules(), ids=["more", "none", "newer", "one_off"]
)
def test_after_a_change_of_rules_the_table_has_the_bytes_of_a_full_run_and_nothing_is_rendered(
    tmp_path: Path, filters: Filters
) -> None:
    """The turns files are empty by then: what is not in the table cannot be rendered."""
    lake, full = Lake(tmp_path / "changed"), Lake(tmp_path / "full")
    for each in (lake, full):
        silent = at(3, "p3", user_text="", assistant_text="", chars=0)
        thanks = at(2, "p2", user_text="thanks", assistant_text="Sure.", chars=11)
        put(each, "a.jsonl", unique_turn(0), unique_turn(1, "Done."), thanks, silent)
    episodes.build(lake, [GROUP])
    files = [(path, path.read_bytes()) for path in lake.turn_paths()]
    for path, data in files:
        path.write_bytes(without_rows(data))
    # Files that were changed since the table was built would be checked.
    os.utime(table(lake), (4e9, 4e9))
    reports = episodes.build(lake, [GROUP], filters=filters).groups
    for path, data in files:
        path.write_bytes(data)
    assert reports == episodes.build(full, [GROUP], filters=filters).groups
    assert table(lake).read_bytes() == table(full).read_bytes()
    assert episodes.build(lake, [GROUP], filters=filters).groups[0].unchanged


def test_after_a_change_of_archives_only_changed_turns_are_rendered_as_in_a_full_run(
    tmp_path: Path,
) -> None:
    """A text is changed in the table: it stays where its turn did not change."""
    lake, full = Lake(tmp_path / "changed"), Lake(tmp_path / "full")
    before = [unique_turn(minute) for minute in range(0, 10, 2)]
    put(lake, "a.jsonl", *before)
    episodes.build(lake, [GROUP])
    other = replace(before[2], assistant_text="Another answer.", content_hash="other")
    interrupted = replace(before[3], closed_by=ClosedBy.INTERRUPTED)
    after = [before[0], unique_turn(1), before[1], other, interrupted, before[4], unique_turn(11)]
    for each in (lake, full):
        put(each, "a.jsonl", *after, sha256="grown")
    untouched = table(lake).read_bytes()
    assert not episodes.build(lake, [GROUP]).groups[0].unchanged
    episodes.build(full, [GROUP])
    assert table(lake).read_bytes() == table(full).read_bytes()

    table(lake).write_bytes(untouched)
    stored = lake.episodes_metadata(GROUP) or {}
    marked = lake.scan_episodes(GROUP).collect().with_columns(text="kept: " + pl.col("text"))
    lake.write_episodes(GROUP, [marked], lambda: stored)
    episodes.build(lake, [GROUP])
    texts = lake.scan_episodes(GROUP).collect()["text"]
    kept = [text.startswith("kept: ") for text in texts]
    assert kept == [True, False, True, False, False, True, False]


def test_the_metadata_of_a_stored_table_keeps_its_keys(tmp_path: Path) -> None:
    """Under another key, every table of an older version would be built again."""
    lake = Lake(tmp_path)
    put(lake, "a.jsonl", unique_turn(0))
    episodes.build(lake, [GROUP])
    stored = lake.episodes_metadata(GROUP) or {}
    digests = (f"turnetl.{name}_digest" for name in ("content", "inputs", "text", "turns"))
    assert set(stored) == {"turnetl.report", *digests}


HASHED = (
    *("user_text", "assistant_text", "steering", "user_answers", "subagent_prompts", "tool_calls"),
)
"""The columns of which `content_hash` is a digest; of a call, not the time of its end."""


COLUMNS = {column.name for column in schema.TURN_COLUMNS}


def test_a_text_depends_on_no_other_column_of_its_turn_than_those_that_are_compared(
    subtests: pytest.Subtests,
) -> None:
    for column in sorted({*COLUMNS} - {*INPUTS, *HASHED} | {"calls"}):
        with subtests.test(column=column):
            calls = (ToolCall("Bash", "make test", "3 failed", is_error=True, ended_at=START),)
            names = {"agent_id": "a", "parent_session_id": "s0"}
            used = MessageUsage("m1", "opus", START.date(), 5, 4, 3, 2, 1)
            counts = {"cache_write_tokens": 4, "cache_read_tokens": 3, "reasoning_tokens": 1}
            turn = at(1, "p1", tool_calls=calls, usage=(used,), **counts, **names)
            rows = frames.turns(unique_turn(0), turn).collect()
            marked = rows.with_columns(
                copies=pl.lit(0), variants=pl.lit(0), noise=pl.lit(None, pl.String)
            )
            without_time = pl.element().struct.with_fields(
                ended_at=pl.lit(None, pl.Datetime("us", "UTC"))
            )
            changed = marked.with_columns(
                pl.col("tool_calls").list.eval(without_time)
                if column == "calls"
                else marked[column].clear(marked.height)
            )
            before, after = (episode_rows(turns, Filters()) for turns in (marked, changed))
            assert not changed.equals(marked)
            assert after.select(RENDERED).equals(before.select(RENDERED))


def without_rows(data: bytes) -> bytes:
    """Return a turns file whose footer is intact and whose rows are not."""
    return data[:4] + bytes(64) + data[68:]


def test_other_rules_after_damage_to_the_table_render_it_again(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put(lake, "a.jsonl", unique_turn(0), unique_turn(1, "Done."))
    episodes.build(lake, [GROUP], filters=Filters(rules=(done_rule("done"),)))
    expected = table(lake).read_bytes()
    for filters in (Filters(), Filters(rules=(*noise.RULES, done_rule("never", "Never.")))):
        episodes.build(lake, [GROUP])
        table(lake).write_bytes(without_rows(table(lake).read_bytes()))
        episodes.build(lake, [GROUP], filters=filters)
        lake.verify_episodes(GROUP)
    episodes.build(lake, [GROUP], filters=Filters(rules=(done_rule("done"),)))
    assert table(lake).read_bytes() == expected


def test_a_pattern_changes_only_the_texts_that_it_matches(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put(lake, "a.jsonl", unique_turn(0, "The cart was empty."), unique_turn(1))
    episodes.build(lake, [GROUP])
    before = lake.scan_episodes(GROUP).collect()
    episodes.build(lake, [GROUP], filters=Filters(patterns=("was empty",)))
    after = lake.scan_episodes(GROUP).collect()
    assert [old == new for old, new in zip(before["text"], after["text"], strict=True)] == [
        False,
        True,
    ]
    assert [*(before["text_hash"] == after["text_hash"])] == [False, True]


def test_a_one_off_table_is_current_until_the_next_filter_without_one_off_options(
    tmp_path: Path,
) -> None:
    lake = Lake(tmp_path)
    put(lake, "a.jsonl", at(0, "p0", assistant_text="Done."))
    one_off = Filters(rules=(done_rule("done"),), one_off=True)
    episodes.build(lake, [GROUP], filters=one_off)
    assert episodes.is_current(lake, GROUP, lake.turn_files(GROUP))
    assert episodes.is_current(lake, GROUP, lake.turn_files(GROUP), Filters(patterns=("x",)))
    assert episodes.build(lake, [GROUP], filters=one_off).groups[0].unchanged
    (report,) = episodes.build(lake, [GROUP]).groups
    assert (report.unchanged, report.kept) == (False, 1)
    assert not episodes.is_current(lake, GROUP, lake.turn_files(GROUP), Filters(patterns=("x",)))


def test_a_one_off_table_is_outdated_when_its_turns_change(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put(lake, "a.jsonl", at(0, "p0"))
    episodes.build(lake, [GROUP], filters=Filters(rules=(), one_off=True))
    put(lake, "a.jsonl", at(0, "p0"), at(1, "p1"), sha256="grown")
    assert not episodes.is_current(lake, GROUP, lake.turn_files(GROUP))


def test_one_off_filters_equal_to_the_settings_still_make_a_one_off_table(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put(lake, "a.jsonl", at(0, "p0"))
    episodes.build(lake, [GROUP])
    episodes.build(lake, [GROUP], filters=Filters(one_off=True))
    assert episodes.is_current(lake, GROUP, lake.turn_files(GROUP), Filters(rules=()))


def test_a_group_of_one_turn_and_a_group_of_noise_alone_have_tables(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put(lake, "a.jsonl", at(0, "p0", assistant_text="Done."))
    assert episodes.build(lake, [GROUP]).groups[0].kept == 1
    (report,) = episodes.build(lake, [GROUP], filters=Filters(rules=(done_rule("done"),))).groups
    assert (report.turns, report.kept, report.chars_after, report.tokens) == (1, 0, 0, 0)
    assert lake.scan_episodes(GROUP).collect()["noise"].to_list() == ["done"]


@pytest.mark.full
def test_a_prompt_of_many_megabytes_is_kept_whole(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    prompt = " ".join(f"word{number}" for number in range(300_000))
    put(lake, "a.jsonl", at(0, "p0", user_text=prompt, chars=len(prompt)), unique_turn(1))
    episodes.build(lake, [GROUP])
    long, short = lake.episodes(GROUP)
    assert prompt in long.text
    assert len(long.chunks) > 10
    assert short.chunks == (short.text,)


@pytest.mark.parametrize("damage", ["truncated", "corrupted in the middle", "missing"])
def test_a_damaged_turns_file_is_named_and_the_old_table_stays(tmp_path: Path, damage: str) -> None:
    lake = Lake(tmp_path)
    put(lake, "a.jsonl", at(0, "p0"))
    put(lake, "b.jsonl", *(at(n, f"q{n}", archive="b.jsonl") for n in range(1, 9)))
    episodes.build(lake, [GROUP])
    before = table(lake).read_bytes()
    bad = next(file.path for file in lake.turn_files(GROUP) if file.metadata.archive == "b.jsonl")
    data = bad.read_bytes()
    if damage == "missing":
        bad.unlink()
        bad.symlink_to(tmp_path / "nowhere")
    else:
        bad.write_bytes(data[:-9] if damage == "truncated" else corrupted(data))
    with pytest.raises(Fatal) as caught:
        episodes.build(lake, [GROUP], filters=Filters(rules=(done_rule("done"),)))
    assert str(bad) in str(caught.value)
    assert table(lake).read_bytes() == before
    assert [*table(lake).parent.iterdir()] == [table(lake)]


def corrupted(data: bytes) -> bytes:
    """Overwrite everything except both ends."""
    return data[:4] + b"\xff" * (len(data) // 2) + data[4 + len(data) // 2 :]


def test_concurrent_filters_leave_the_complete_table_of_one_of_them(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put(lake, "a.jsonl", *(unique_turn(n, "Done.") for n in range(50)))
    variants = [Filters(), Filters(rules=(done_rule("done"),))]
    with ThreadPoolExecutor(4) as pool:
        runs = [
            pool.submit(episodes.build, lake, [GROUP], filters=variants[n % 2]) for n in range(12)
        ]
        assert {run.result().kept for run in runs} == {0, 50}
    marks = lake.scan_episodes(GROUP).collect()["noise"]
    assert (marks.len(), marks.n_unique()) == (50, 1)
    assert [*table(lake).parent.iterdir()] == [table(lake)]


def test_an_interrupted_run_leaves_the_old_table_complete(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    put(lake, "a.jsonl", *(at(n, f"p{n}") for n in range(9)))
    episodes.build(lake, [GROUP])
    before = table(lake).read_bytes()
    rows = lake.scan_episodes(GROUP).collect()

    def stopped() -> Iterator[pl.DataFrame]:
        yield rows[:3]
        yield rows[3:6]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lake.write_episodes(GROUP, stopped(), dict)
    assert table(lake).read_bytes() == before
    assert [*table(lake).parent.iterdir()] == [table(lake)]


_BUILD = """
import sys
from pathlib import Path
from turnetl import episodes
from turnetl.lake import Lake

lake = Lake(Path(sys.argv[1]))
episodes.build(lake, lake.groups())
"""


@pytest.mark.full
def test_the_bytes_do_not_depend_on_the_number_of_threads(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    for name in ("a.jsonl", "b.jsonl"):
        turns = [unique_turn(minute, f"It is done {minute} times.") for minute in range(700)]
        put(lake, name, *(replace(turn, archive=name) for turn in turns))
    written = set()
    for threads in ("1", "3"):
        table(lake).unlink(missing_ok=True)
        subprocess.run(
            [sys.executable, "-c", _BUILD, str(tmp_path)],
            env={**os.environ, "POLARS_MAX_THREADS": threads},  # noqa: TID251 - read by polars
            check=True,
        )
        written.add(table(lake).read_bytes())
    assert len(written) == 1


_FULL = """
import resource, sys
from pathlib import Path
from turnetl import episodes
from turnetl.episodes.partitions import partition
from turnetl.lake import Lake

lake = Lake(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
if sys.argv[2] == "table":
    episodes.build(lake, lake.groups())
else:
    list(partition(lake.turn_batches("shop"), (), lake.episodes_folder, memory_limit=0))
"""


@pytest.mark.full
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
@pytest.mark.parametrize("what", ["table", "spilled rows"])
def test_a_full_disk_is_reported_and_the_old_table_stays(tmp_path: Path, what: str) -> None:
    lake = Lake(tmp_path)
    put(lake, "a.jsonl", at(0, "p0"))
    episodes.build(lake, [GROUP])
    before = table(lake).read_bytes()
    answers = [
        " ".join(f"{n * 7919 % 10007}" for n in range(start, start + 9000)) for start in range(3)
    ]
    turns = [unique_turn(n, answer) for n, answer in enumerate(answers)]
    put(lake, "a.jsonl", *turns, sha256="grown")
    run = subprocess.run(
        [sys.executable, "-c", _FULL, str(tmp_path), what],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "cannot be written" in run.stderr.splitlines()[-1]
    assert "turnetl.base.errors.Fatal" in run.stderr.splitlines()[-1]
    assert table(lake).read_bytes() == before
    assert [*table(lake).parent.iterdir()] == [table(lake)]
