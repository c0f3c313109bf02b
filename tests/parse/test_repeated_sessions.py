"""A session in several archives gives each turn once, whichever archive is parsed first."""

import csv
import json
from collections import defaultdict
from itertools import pairwise, permutations
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import frames, real_archives
from tests.fakes.redactors import NoRedactor
from tests.scale import scaled
from turnetl import parsing
from turnetl.base.model import GroupId
from turnetl.base.reason import SkipReason
from turnetl.episodes import build
from turnetl.lake import Lake
from turnetl.parsing.grouping import Grouping

SMALL = Path(__file__).parents[1] / "archives"
SHOP = GroupId("shop")
PROMPTS = ("Mend the cart.", "Now the till.", "And the sign.")


def parsed(lake: Lake, *paths: Path, grouping: Grouping | None = None) -> parsing.ParseReport:
    return parsing.parse_archives(
        paths, lake, redactor=NoRedactor(), grouping=grouping or Grouping()
    )


def row(kind: str, content: object, native: str, second: int) -> dict[str, object]:
    return {
        "type": kind,
        "sessionId": "s1",
        "cwd": "/srv/shop",
        "uuid": native,
        "timestamp": f"2026-03-02T09:00:{second:02}Z",
        "message": {"role": kind, "content": content},
    }


def turn_rows(number: int) -> list[dict[str, object]]:
    """A prompt, a tool call, its result with steering, and the agent's text."""
    call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": "make"}}
    result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": f"made {number}"}
    steering = {"type": "text", "text": f"and test {number}"}
    second = number * 10
    return [
        row("user", PROMPTS[number], f"p{number}", second),
        row("assistant", [call], f"c{number}", second + 1),
        row("user", [result, steering], f"r{number}", second + 2),
        row("assistant", f"Done with {number}.", f"a{number}", second + 3),
    ]


ROWS = [line for number in range(len(PROMPTS)) for line in turn_rows(number)]


def written(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in rows))
    return path


def episodes_in(lake: Lake) -> list[tuple[str, str, int, int]]:
    """Prompt, agent's text, number of steering messages and of tool calls of each episode."""
    build(lake, [SHOP])
    return [
        (
            episode.turn.user_text,
            episode.turn.assistant_text,
            len(episode.turn.steering),
            len(episode.turn.tool_calls),
        )
        for episode in lake.episodes(SHOP)
    ]


ALL_TURNS = [(prompt, f"Done with {number}.", 1, 1) for number, prompt in enumerate(PROMPTS)]


ENDS = st.lists(st.integers(1, len(ROWS)), max_size=4)


@pytest.mark.full
@settings(max_examples=scaled(25), deadline=None)
@given(ENDS.map(lambda ends: [*ends, len(ROWS)]).flatmap(st.permutations))
def test_snapshots_of_a_growing_session_give_each_turn_completely(
    tmp_path_factory: pytest.TempPathFactory, ends: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("family")
    lake = Lake(folder / "lake")
    for number, end in enumerate(ends):
        parsed(lake, written(folder / f"{number}.jsonl", ROWS[:end]))
    assert episodes_in(lake) == ALL_TURNS


def test_archives_split_between_turns_give_the_session_in_order(tmp_path: Path) -> None:
    lake, boundaries = Lake(tmp_path / "lake"), (0, 4, 8, 12)
    for start, end in reversed(list(pairwise(boundaries))):
        parsed(lake, written(tmp_path / f"{99 - start}.jsonl", ROWS[start:end]))
    assert episodes_in(lake) == ALL_TURNS
    turns = [(episode.turn.ordinal, episode.turn.closed) for episode in lake.episodes(SHOP)]
    assert turns == [(0, True), (1, True), (2, False)]


def test_an_archive_with_the_complete_turn_replaces_one_with_a_part_of_it(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    parsed(lake, written(tmp_path / "1.jsonl", ROWS[:6]))
    assert episodes_in(lake)[1] == ("Now the till.", "", 0, 1)
    parsed(lake, written(tmp_path / "2.jsonl", ROWS[4:]))
    assert episodes_in(lake) == ALL_TURNS


def test_rows_before_the_first_prompt_are_counted_and_belong_to_no_turn(tmp_path: Path) -> None:
    report = parsed(Lake(tmp_path / "lake"), written(tmp_path / "1.jsonl", ROWS[5:]))
    assert report.read.skipped[SkipReason.PREAMBLE] == 3
    assert (report.read.turns, report.read.steering) == (1, 2)


def test_a_grown_archive_replaces_its_previous_turns(tmp_path: Path) -> None:
    lake, path = Lake(tmp_path / "lake"), tmp_path / "1.jsonl"
    for end in (2, 6, 12):
        parsed(lake, written(path, ROWS[:end]))
    assert episodes_in(lake) == ALL_TURNS
    assert [episode.copies for episode in lake.episodes(SHOP)] == [0, 0, 0]


def test_a_fork_has_its_parent_and_repeats_none_of_its_turns(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    origin: dict[str, object] = {"forkedFrom": {"sessionId": "s1"}}
    mode: dict[str, object] = {
        "type": "permission-mode",
        "sessionId": "a-fork",
        "permissionMode": "default",
    }
    copied = [line | origin | {"sessionId": "a-fork"} for line in ROWS[:4]]
    own = [line | {"sessionId": "a-fork"} for line in turn_rows(2)]
    parsed(lake, written(tmp_path / "0.jsonl", [mode, *copied, *own]))
    parsed(lake, written(tmp_path / "1.jsonl", ROWS[:8]))
    assert episodes_in(lake) == ALL_TURNS
    links = [
        (episode.turn.session_id, episode.turn.parent_session_id) for episode in lake.episodes(SHOP)
    ]
    assert links == [("s1", None), ("s1", None), ("a-fork", "s1")]


def test_a_session_continued_by_another_in_its_file_is_the_parent(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    later = [line | {"sessionId": "s2"} for line in turn_rows(1)]
    back = turn_rows(2)
    parsed(lake, written(tmp_path / "0.jsonl", [*turn_rows(0), *later, *back]))
    assert episodes_in(lake) == ALL_TURNS
    links = [
        (episode.turn.session_id, episode.turn.parent_session_id) for episode in lake.episodes(SHOP)
    ]
    assert links == [("s1", None), ("s2", "s1"), ("s1", None)]


def episode_rows(tmp_path: Path, *archives: str) -> pl.DataFrame:
    """Return the episodes of archives under tests/archives; their order must not matter."""
    paths = [SMALL / archive for archive in archives]
    tables = []
    for number, order in enumerate(permutations(paths)):
        lake = Lake(tmp_path / str(number))
        for path in order:
            (group,) = parsed(lake, path).groups
        build(lake, [group])
        tables.append(lake.scan_episodes(group).collect())
    assert all(table.equals(tables[0]) for table in tables)
    return tables[0]


def test_a_codex_fork_that_repeats_its_parent_gives_each_turn_once(tmp_path: Path) -> None:
    parent = episode_rows(tmp_path / "parent", "codex/twice.jsonl")
    both = episode_rows(tmp_path / "both", "codex/twice.jsonl", "codex/fork.jsonl")
    assert both.height == both["turn_id"].n_unique() == parent.height + 1
    assert both["copies"].to_list() == [1, 1, 0]
    assert both["session_id"].to_list()[:2] == parent["session_id"].to_list()
    assert both["parent_session_id"].to_list() == [None, None, parent["session_id"][0]]


def test_snapshots_of_a_gemini_session_give_each_turn_once(tmp_path: Path) -> None:
    alone = episode_rows(tmp_path / "alone", "gemini_json/session.json")
    both = episode_rows(tmp_path / "both", "gemini_json/snapshot.json", "gemini_json/session.json")
    counts = ("copies", "variants")
    assert both.drop(counts).equals(alone.drop(counts))
    assert both["copies"].to_list() == [1, 0]
    assert both["variants"].to_list() == [1, 0]


def test_an_opencode_session_in_an_export_and_a_store_gives_each_turn_once(
    tmp_path: Path,
) -> None:
    store = episode_rows(tmp_path / "store", "opencode/store.json")
    both = episode_rows(tmp_path / "both", "opencode/export.json", "opencode/store.json")
    assert both["turn_id"].to_list() == store["turn_id"].to_list()
    assert both["content_hash"].to_list() == store["content_hash"].to_list()
    assert set(both["copies"]) == {1}


def test_a_session_on_disk_and_in_a_web_export_is_one_session(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    export = tmp_path / "export.json"
    export.write_text(json.dumps({"loglines": ROWS[:6]}, indent=2))
    report = parsed(lake, export, written(tmp_path / "1.jsonl", ROWS))
    assert [archive.format for archive in report.archives] == ["claude_web", "claude_code"]
    assert episodes_in(lake) == ALL_TURNS
    assert [episode.copies for episode in lake.episodes(SHOP)] == [1, 1, 0]


def expected() -> list[tuple[str, int, int, list[Path]]]:
    """Session, sum of turns, number of distinct turns, and archives of each repeated session."""
    if not real_archives.AVAILABLE:
        return []
    files = defaultdict[str, list[Path]](list)
    for line in table("expected.tsv"):
        files[line["session"]].append(real_archives.ARCHIVES / line["path"])
    return [
        (row["session"], int(row["turns_summed"]), int(row["turns_unique"]), files[row["session"]])
        for row in table("expected_families.tsv")
    ]


def table(name: str) -> list[dict[str, str]]:
    with (real_archives.ARCHIVES / name).open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


@pytest.mark.archives
@pytest.mark.parametrize(
    ("session", "total", "distinct", "paths"), expected(), ids=lambda value: str(value)[:8]
)
def test_a_real_session_in_several_archives_gives_each_turn_once(
    session: str, total: int, distinct: int, paths: list[Path], tmp_path: Path
) -> None:
    lake = Lake(tmp_path)
    report = parsed(lake, *paths)
    (group,) = report.groups
    turns = [lake.scan_turns(group).filter(archive=str(path.resolve())).collect() for path in paths]
    table = frames.episode_table(pl.concat(turns).lazy())
    assert report.read.turns == total
    assert table.height == table["turn_id"].n_unique() == distinct
    assert set(table["session_id"]) == {session}
    assert table["copies"].sum() == total - distinct
    assert table["closed"].to_list()[:-1] == [True] * (distinct - 1)
    longest = pl.concat(turns).group_by("turn_id").agg(pl.col("chars").max()).sort("turn_id")
    assert table.select("turn_id", "chars").sort("turn_id").equals(longest)
    for order in permutations(turns):
        assert frames.episode_table(pl.concat(order).lazy()).equals(table)


@pytest.mark.archives
@pytest.mark.parametrize(
    ("session", "paths"), [(session, paths) for session, _, _, paths in expected()], ids=str
)
def test_the_tables_of_a_real_session_do_not_depend_on_the_order_of_its_archives(
    session: str, paths: list[Path], tmp_path: Path
) -> None:
    forward, backward = Lake(tmp_path / "forward"), Lake(tmp_path / "backward")
    (group,) = parsed(forward, *paths).groups
    for path in reversed(paths):
        parsed(backward, path)
    for lake in (forward, backward):
        build(lake, [group])
    first, second = (lake.scan_episodes(group).collect() for lake in (forward, backward))
    assert set(first["session_id"]) == {session}
    assert first.equals(second)
