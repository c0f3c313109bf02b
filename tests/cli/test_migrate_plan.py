"""`turnetl migrate plan`: which session each summary in a graph is of."""

import asyncio
import csv
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli.archives import conversation, write_archive
from tests.cli.command import SAMPLES, CommandResult, run_in_process
from tests.cli.hostile_text import assert_clean
from tests.graph.graph_dump import dump_graph
from tests.legacy.graphs import DIMENSIONS, write_foreign_data, write_legacy_graph
from tests.legacy.sessions import LegacySession, legacy_sessions
from tests.legacy.styles import LegacyEpisode, LegacyStyle, legacy_episode

RUN = datetime(2026, 9, 1, tzinfo=UTC)
GROUP = "old-summaries"


@pytest.fixture(scope="module")
def sessions() -> tuple[LegacySession, ...]:
    return legacy_sessions(Path(SAMPLES))


def summaries(
    sessions: Sequence[LegacySession], *, run_at: datetime | None = None
) -> dict[str, tuple[LegacySession, LegacyEpisode]]:
    """Return an episode of each session in each style, with its session, by uuid."""
    pairs = (
        (session, legacy_episode(session, style, run_at=run_at))
        for session in sessions
        for style in LegacyStyle
    )
    return {episode.uuid: (session, episode) for session, episode in pairs}


def fill(url: str, episodes: Sequence[LegacyEpisode], dimensions: int = DIMENSIONS) -> None:
    async def write() -> None:
        await write_legacy_graph(url, episodes, GROUP, dimensions=dimensions)
        for group in (GROUP, "manual"):
            await write_foreign_data(url, group, dimensions=dimensions)

    asyncio.run(write())


def plan(folder: Path, graph: str, *arguments: str | Path) -> CommandResult:
    words = map(str, arguments)
    return run_in_process("migrate", "plan", *words, "--graph", graph, folder=folder)


@pytest.mark.full
def test_summaries_of_every_style_are_matched_other_data_are_foreign_and_nothing_is_changed(
    graph_url: str, tmp_path: Path, sessions: tuple[LegacySession, ...]
) -> None:
    assert_matched(tmp_path, graph_url, sessions, None)


@pytest.mark.full
def test_summaries_that_one_run_wrote_are_matched_too(
    tmp_path: Path, sessions: tuple[LegacySession, ...]
) -> None:
    assert_matched(tmp_path, f"ladybug://{tmp_path / 'graph.lbug'}", sessions, RUN)


def assert_matched(
    folder: Path, url: str, sessions: tuple[LegacySession, ...], run_at: datetime | None
) -> None:
    expected = summaries(sessions, run_at=run_at)
    fill(url, [episode for _, episode in expected.values()])
    before = asyncio.run(dump_graph(url))
    result = plan(folder, url, SAMPLES, "--lake", "lake", "--json")
    assert result.exit_code == 0, result.stderr
    assert asyncio.run(dump_graph(url)) == before
    assert not (folder / "lake").exists()
    manual, old = result.json["groups"]
    assert (manual["group"], old["group"]) == ("manual", GROUP)
    assert [one["kind"] for one in manual["episodes"]] == ["foreign", "foreign"]
    matched = {one["episode"]: one for one in old["episodes"] if one["kind"] == "matched"}
    assert {uuid: one["session_id"] for uuid, one in matched.items()} == {
        uuid: session.session_id for uuid, (session, _) in expected.items()
    }
    assert Counter(one["kind"] for one in old["episodes"])["foreign"] == 2
    assert old["sessions"] == len(sessions)
    assert old["turns"] > old["sessions"]
    assert old["tokens"] > 0
    [files] = {tuple(session.files) for session, _ in expected.values() if session == sessions[0]}
    of_first = next(one for one in matched.values() if one["session_id"] == sessions[0].session_id)
    assert (of_first["entities"], of_first["facts"]) == (len(files), len(files) - 1)


@pytest.mark.full
def test_turns_of_the_same_group_are_no_session_level_data(graph_url: str, tmp_path: Path) -> None:
    filled = run_in_process("backfill", SAMPLES, "--graph", graph_url, folder=tmp_path)
    assert filled.exit_code == 0, filled.stderr
    result = plan(tmp_path, graph_url, SAMPLES)
    assert result.exit_code == 0
    assert "holds no session-level data" in result.stdout


def test_sessions_without_an_archive_are_gone_and_a_message_says_so(
    tmp_path: Path, sessions: tuple[LegacySession, ...]
) -> None:
    url = f"ladybug://{tmp_path / 'graph.lbug'}"
    fill(url, [legacy_episode(sessions[0], style) for style in LegacyStyle])
    other = tmp_path / "other.jsonl"
    other.write_bytes(next(Path(SAMPLES).rglob("2026-02-21-first-steps.jsonl")).read_bytes())
    result = plan(tmp_path, url, other, "--group", GROUP, "--json")
    kinds = Counter(one["kind"] for one in result.json["groups"][0]["episodes"])
    assert kinds == {"archive_gone": 4, "foreign": 2}
    assert "check that these are the right archives" in result.messages[0]


@pytest.mark.full
def test_ambiguous_summaries_are_settled_in_a_file(
    tmp_path: Path, sessions: tuple[LegacySession, ...]
) -> None:
    url, file = f"ladybug://{tmp_path / 'graph.lbug'}", tmp_path / "decisions.tsv"
    one, other = sessions[0], sessions[1]
    both = LegacyEpisode(
        "both", f"sessions {one.session_id} and {other.session_id}", "Ok.", "text", "", RUN
    )
    fill(url, [both])
    first = plan(tmp_path, url, SAMPLES, "--write", file, "--json")
    assert kind_of(first, "both")[0] == "ambiguous"
    assert f"1 episode ambiguous: they are in `{file}`" in first.messages[0]
    assert f"`turnetl migrate run ARCHIVES --plan {file}`" in first.messages[0]
    assert "--write" not in first.stderr
    header, row = file.read_text().splitlines()
    assert header.split("\t")[:2] == ["episode", "session"]
    refused = plan(tmp_path, url, SAMPLES, "--write", file)
    assert (refused.exit_code, "it may hold decisions" in refused.messages[0]) == (2, True)
    cells = row.split("\t")
    for decision, expected in (
        (other.session_id, ("matched", other.session_id)),
        ("foreign", ("foreign", None)),
        ("archive_gone", ("archive_gone", None)),
    ):
        file.write_text("\n".join([header, "\t".join([cells[0], decision, *cells[2:]])]))
        settled = plan(tmp_path, url, SAMPLES, "--plan", file, "--json")
        assert kind_of(settled, "both") == expected


def kind_of(result: CommandResult, uuid: str) -> tuple[str, str | None]:
    assert result.exit_code == 0, result.stderr
    episodes = (one for group in result.json["groups"] for one in group["episodes"])
    found = next(one for one in episodes if one["episode"] == uuid)
    return found["kind"], found["session_id"]


@pytest.mark.full
def test_a_wrong_decision_is_a_sentence_with_its_line(
    subtests: pytest.Subtests, tmp_path: Path
) -> None:
    url, file = f"ladybug://{tmp_path / 'graph.lbug'}", tmp_path / "decisions.tsv"
    fill(url, [LegacyEpisode("both", "session notes", "Ok.", "text", "", RUN)])
    begin = "episode\tsession\n"
    for text, message in (
        ("a\tb\n", "has no column `episode`"),
        (f"{begin}none\tforeign\n", "line 2: the graph holds no episode `none`"),
        (f"{begin}both\tnone\n", "line 2: no archive holds session `none`"),
        (f"{begin}both\tforeign\nboth\tforeign\n", "line 3: episode `both` is settled"),
    ):
        with subtests.test(text=text):
            file.write_text(text)
            result = plan(tmp_path, url, SAMPLES, "--plan", file)
            assert result.exit_code == 2
            assert message in result.messages[0]


@pytest.mark.full
def test_embeddings_of_other_dimensions_are_reported(
    graph_url: str, tmp_path: Path, sessions: tuple[LegacySession, ...]
) -> None:
    fill(graph_url, [legacy_episode(sessions[0], LegacyStyle.NAME)], dimensions=12)
    result = plan(tmp_path, graph_url, SAMPLES)
    assert result.exit_code == 0
    assert "has embeddings of 12 dimensions" in " ".join(result.messages)


@pytest.mark.full
def test_hostile_names_are_neither_printed_nor_break_the_file_of_decisions(tmp_path: Path) -> None:
    url, file = f"ladybug://{tmp_path / 'graph.lbug'}", tmp_path / "decisions.tsv"
    archives = tmp_path / "a"
    hostile = 'x\x1b]0;owned\x07\t"\r\n\u202eend'
    for place, verb in enumerate(("Tidy", "Empty"), start=1):
        rows = conversation(f"{verb} the cart", session=f"{hostile}{place}")
        write_archive(archives / f"{place}.jsonl", rows)
    names = f"session notes {hostile}"
    fill(url, [LegacyEpisode(hostile, names, "Tidy, empty the cart", "text", hostile, RUN)])
    for options in ((), ("--json",)):
        shown = plan(tmp_path, url, archives, "--group", GROUP, *options)
        assert_clean(shown)
    assert plan(tmp_path, url, archives, "--write", file).exit_code == 0
    with file.open(newline="") as written:
        [row] = csv.DictReader(written, delimiter="\t")
    assert row["episode"] == hostile
    assert row["first"] in (f"{hostile}1", f"{hostile}2")
    with file.open("w", newline="") as edited:
        writer = csv.writer(edited, delimiter="\t")
        writer.writerows([["episode", "session"], [hostile, f"{hostile}2"]])
    settled = plan(tmp_path, url, archives, "--plan", file, "--json")
    assert kind_of(settled, hostile) == ("matched", f"{hostile}2")
