"""What subagents did belongs to the turn that started them."""

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import real_archives
from tests.fakes.redactors import NoRedactor, WordRedactor
from turnetl import parsing
from turnetl.base import ids, schema
from turnetl.base.model import SubagentRun, Turn
from turnetl.episodes import FilterReport, build
from turnetl.episodes.subagents import LINKS, parents
from turnetl.ingestion.forget import ForgetSelection
from turnetl.lake import Lake
from turnetl.lake.forgotten import NOTHING, write_forgotten
from turnetl.parsing.forgetting import (
    delete_stale_episodes,
    keys_of_runs,
    remove_forgotten_turns,
    turns_with,
)
from turnetl.pipeline.run_forget import rows_to_forget
from turnetl.redact import Redactor

_Row = dict[str, Any]
SESSION = "0000abc0-0000-4000-8000-000000000001"


def row(kind: str, second: int, content: object, **fields: Any) -> _Row:
    message = {"role": kind, "content": content}
    if kind == "assistant":
        message |= {"id": f"msg-{second}-{fields.get('agentId')}", "model": "big"}
        message |= {"usage": {"input_tokens": 10, "output_tokens": 2}}
    place = {"uuid": f"u{second}-{fields.get('agentId')}", "cwd": "/home/dev/shop"}
    time = f"2026-05-04T09:{second // 60:02}:{second % 60:02}Z"
    return (
        {"type": kind, "sessionId": SESSION, "timestamp": time, "message": message} | place | fields
    )


def call(name: str, key: str, **arguments: Any) -> _Row:
    return {"type": "tool_use", "id": key, "name": name, "input": arguments}


def returned(key: str, text: str, *, is_error: bool = False) -> _Row:
    return {"type": "tool_result", "tool_use_id": key, "content": text, "is_error": is_error}


def steps(agent: str, second: int, prompt: str, *blocks: _Row) -> list[_Row]:
    """Return the rows of a subagent: its prompt, calls with their results, an answer."""
    found = [row("user", second, prompt)]
    for number, block in enumerate(blocks, 1):
        found.append(row("assistant", second + 2 * number, [block]))
        found.append(row("user", second + 2 * number + 1, [returned(block["id"], "3 passed")]))
    found.append(row("assistant", second + 50, [{"type": "text", "text": f"{agent} is done"}]))
    return [one | {"isSidechain": True, "agentId": agent} for one in found]


def progress(call_id: str, rows: Iterable[_Row]) -> list[_Row]:
    """Return rows of a session that repeat those of a subagent."""
    data = [(one, {"type": "agent_progress", "agentId": one["agentId"]}) for one in rows]
    return [
        row("progress", 90, None, parentToolUseID=call_id, toolUseID="p")
        | {"message": None, "data": about | {"message": one}}
        for one, about in data
    ]


EDIT = call("Edit", "toolu_e", file_path="cart.py", old_string="a", new_string="b")
OWN = steps("a1", 10, "Mend the cart.", EDIT, call("Task", "toolu_t2", prompt="Run the tests."))
NESTED = steps("b2", 16, "Run the tests.", call("Bash", "toolu_b", command="pytest -q"))
MIRRORED = steps("c3", 130, "Find the prices.", call("Grep", "toolu_g", pattern="price"))
EARLY = [
    one | {"agentId": None, "uuid": f"e{number}", "parentUuid": f"e{number - 1}"}
    for number, one in enumerate(
        steps("d4", 140, "Look around.", call("Read", "toolu_r", file_path="a.py"))
    )
]
"""Of an early version: chained by parents, without the id of the agent."""
ORPHAN = [
    one | {"sessionId": "0000abc0-0000-4000-8000-00000000000f"}
    for one in steps("z9", 10, "Nobody asked.", call("Bash", "toolu_z", command="ls"))
]
PARENT = [
    row("user", 0, "Mend the cart, please."),
    row("assistant", 5, [call("Task", "toolu_t1", prompt="Mend the cart.", subagent_type="fixer")]),
    row("user", 80, [returned("toolu_t1", "mended")], toolUseResult={"agentId": "a1"}),
    row("user", 120, "And the prices?"),
    row("assistant", 125, [call("Task", "toolu_t3", prompt="Find the prices.")]),
    *progress("toolu_t3", MIRRORED),
    row("assistant", 135, [call("Task", "toolu_t4", prompt="Look around.")]),
    *EARLY,
    row("assistant", 200, [{"type": "text", "text": "They are in price.py."}]),
]
ARCHIVES: Mapping[str, Sequence[_Row]] = {
    f"{SESSION}.jsonl": PARENT,
    f"{SESSION}/subagents/agent-a1.jsonl": OWN,
    f"{SESSION}/subagents/agent-b2.jsonl": NESTED,
    f"{SESSION}/subagents/agent-c3.jsonl": MIRRORED,
    "agent-z9.jsonl": ORPHAN,
}


def write(folder: Path, names: Iterable[str] = ARCHIVES) -> list[Path]:
    paths = []
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(one) + "\n" for one in ARCHIVES[name]))
        paths.append(path)
    return paths


def parse(lake: Lake, *paths: Path, redactor: Redactor | None = None) -> FilterReport:
    parsing.parse_archives(list(paths), lake, redactor=redactor or NoRedactor())
    return build(lake, lake.groups())


def turns(lake: Lake) -> list[Turn]:
    return [one.turn for group in lake.groups() for one in lake.episodes(group)]


def done(run: SubagentRun) -> list[tuple[str, str, int]]:
    return [(one.name, one.result, one.line) for one in run.tool_calls]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake(tmp_path / "lake")
    parse(lake, *write(tmp_path / "archives"))
    return lake


def test_a_turn_has_the_steps_of_its_subagents_with_their_own_lines(lake: Lake) -> None:
    first, second = turns(lake)
    own, nested = first.subagents
    assert (own.agent_id, own.type, own.call_id) == ("a1", "fixer", "toolu_t1")
    assert (own.prompt, own.answer, own.model) == ("Mend the cart.", "a1 is done", "big")
    assert done(own) == [("Edit", "3 passed", 2), ("Task", "3 passed", 4)]
    assert Path(own.archive).name == "agent-a1.jsonl"
    assert (own.first_line, own.last_line, own.input_tokens, own.output_tokens) == (1, 6, 30, 6)
    assert (nested.agent_id, nested.started_by, done(nested)) == (
        "b2",
        "a1",
        [("Bash", "3 passed", 2)],
    )
    mirrored, early = second.subagents
    assert (mirrored.agent_id, mirrored.call_id) == ("c3", "toolu_t3")
    assert [name for name, *_ in done(mirrored)] == ["Grep"]
    assert (early.prompt, done(early)[0][0], early.archive) == (
        "Look around.",
        "Read",
        second.archive,
    )


@pytest.mark.full
@settings(max_examples=12, deadline=None)
@given(order=st.permutations(sorted(ARCHIVES)), filtered=st.integers(0, 4))
def test_the_episodes_do_not_depend_on_the_order_in_which_archives_arrive(
    order: list[str], filtered: int
) -> None:
    with TemporaryDirectory() as name:
        folder, tables = Path(name) / "archives", []
        paths = write(folder)
        for number, arrivals in enumerate((paths, [folder / one for one in order])):
            lake = Lake(Path(name) / f"lake{number}")
            parse(lake, *arrivals[:filtered])
            parse(lake, *arrivals[filtered:])
            tables.append(pl.concat(lake.scan_episodes(one).collect() for one in lake.groups()))
    assert tables[0].equals(tables[1], null_equal=True)
    assert tables[0]["subagents"].list.len().to_list() == [2, 2]


def test_a_subagent_without_its_parent_is_counted_kept_and_joined_when_the_parent_comes(
    tmp_path: Path,
) -> None:
    lake, paths = Lake(tmp_path / "lake"), write(tmp_path / "archives")
    assert [one.unjoined_archives for one in parse(lake, *paths[1:]).groups] == [4]
    assert turns(lake) == []
    assert [one.unjoined_archives for one in parse(lake, paths[0]).groups] == [1]
    assert [len(one.subagents) for one in turns(lake)] == [2, 2]
    report = parse(lake, *paths)
    assert [(one.unjoined_archives, one.unchanged) for one in report.groups] == [(1, True)]


@pytest.mark.parametrize("folder", ["src/cart", ".claude/worktrees/agent-a1"])
def test_a_subagent_in_a_folder_to_which_its_session_changed_is_of_the_same_group(
    tmp_path: Path, folder: str
) -> None:
    lake, project = Lake(tmp_path / "lake"), tmp_path / "projects/-home-dev-shop"
    paths = write(project)
    flat = project / "agent-b2.jsonl"
    paths[2].rename(flat)
    for path in (paths[1], flat):
        path.write_text(path.read_text().replace("/home/dev/shop", f"/home/dev/shop/{folder}"))
    parse(lake, *paths[:2], flat)
    assert [[run.agent_id for run in one.subagents] for one in turns(lake)] == [
        ["a1", "b2"],
        ["c3", "e0"],
    ]


def test_an_archive_in_the_folder_of_subagents_is_a_run_though_no_row_says_so(
    tmp_path: Path,
) -> None:
    marked, unmarked = Lake(tmp_path / "marked"), Lake(tmp_path / "unmarked")
    paths = write(tmp_path / "archives")[:3]
    parse(marked, *paths)
    for path in paths[1:]:
        lines = map(json.loads, path.read_text().splitlines())
        rows = [{k: v for k, v in one.items() if k not in _MARKS} for one in lines]
        path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    report = parse(unmarked, *paths)
    assert [one.unjoined_archives for one in report.groups] == [0]
    assert turns(unmarked) == turns(marked)
    counts = [[one.metadata.counts for one in lake.turn_files()] for lake in (marked, unmarked)]
    assert counts[0] == counts[1]


_MARKS = ("isSidechain", "agentId")


def test_a_result_in_the_archive_of_a_subagent_says_whom_its_call_started(tmp_path: Path) -> None:
    lake, paths = Lake(tmp_path / "lake"), write(tmp_path / "archives")[:3]
    lines = paths[1].read_text().splitlines()
    number = next(place for place, text in enumerate(lines) if '"tool_use_id": "toolu_t2"' in text)
    lines[number] = json.dumps(json.loads(lines[number]) | {"toolUseResult": {"agentId": "b2"}})
    paths[1].write_text("\n".join(lines))
    paths[2].write_text(paths[2].read_text().replace("Run the tests.", "Another prompt."))
    parse(lake, *paths)
    nested = turns(lake)[0].subagents[1]
    assert (nested.agent_id, nested.started_by, nested.call_id) == ("b2", "a1", "toolu_t2")


def test_a_short_id_of_a_subagent_leads_to_no_turn_of_another_session() -> None:
    empty = dict.fromkeys(LINKS) | {"format": "kimi", "subagent_prompts": [], "user_text": "Look."}
    long_id = "0000abc0-0000-4000-8000-0000000000a1"
    calls = ["\tagent-1\t", f"\t{long_id}\t"]
    turn = empty | {"turn_id": "turn", "session_id": "one", "subagent_calls": calls}
    run = empty | {"session_id": "another", "subagent_type": ""}
    runs = [run | {"turn_id": name, "agent_id": name} for name in ("agent-1", long_id)]
    assert parents([turn], runs).keys() == {long_id}
    own = runs[0] | {"session_id": "one"}
    assert parents([turn], [own]).keys() == {"agent-1"}


def test_the_digest_of_a_turn_changes_with_its_subagents_only(tmp_path: Path) -> None:
    lake, paths = Lake(tmp_path / "lake"), write(tmp_path / "archives")
    parse(lake, paths[0])
    before = [one.content_hash for one in turns(lake)]
    parse(lake, *paths[:3])
    after = [one.content_hash for one in turns(lake)]
    assert (before[0], before[1]) == (ids.own_hash(after[0]), after[1])
    assert before[0] != after[0]


@pytest.mark.full
def test_no_text_of_a_subagent_escapes_redaction(tmp_path: Path) -> None:
    words = ("fixer", "Mend", "cart.py", "3 passed", "is done", "toolu_t1")
    for word in words:
        lake = Lake(tmp_path / word)
        parse(lake, *write(tmp_path / "archives"), redactor=WordRedactor(word))
        tables = [lake.scan_episodes(one).collect() for one in lake.groups()]
        tables += [batch.read() for one in lake.groups() for batch in lake.row_batches(one)]
        for table in tables:
            assert word not in str(table.drop("archive").rows()).replace(str(tmp_path), "")
        runs = [run for one in turns(lake) for run in one.subagents]
        assert len(runs) == 4


def test_forgetting_a_text_of_a_subagent_takes_its_turn_and_the_runs_for_it(
    lake: Lake, tmp_path: Path
) -> None:
    chosen = rows_to_forget(lake, ForgetSelection(text="pytest -q"), lake.groups(), NOTHING)
    assert sorted(chosen["agent_id"].drop_nulls()) == ["a1", "b2"]
    assert chosen.filter(schema.IS_TURN)["user_text"].to_list() == ["Mend the cart, please."]
    pairs = zip(chosen["group_id"], chosen["turn_id"], strict=True)
    forgotten = NOTHING.extended(pairs)
    delete_stale_episodes(lake, forgotten, remove_forgotten_turns(lake, forgotten))
    for _ in range(2):
        build(lake, lake.groups())
        (turn,) = turns(lake)
        assert [run.prompt for run in turn.subagents] == ["Find the prices.", "Look around."]
        write_forgotten(lake.files, forgotten)
        shutil.rmtree(tmp_path / "lake" / "turns")
        parse(lake, *write(tmp_path / "archives"))


@pytest.mark.parametrize(
    ("prompt", "of_runs", "left"),
    [
        ("Mend the cart, please.", True, ["And the prices?"]),
        # An earlier turnetl listed turns alone: their archive then says which runs were for them.
        ("And the prices?", False, ["Mend the cart, please."]),
    ],
)
def test_runs_that_are_read_after_their_turn_was_forgotten_stay_forgotten(
    prompt: str, left: list[str], tmp_path: Path, *, of_runs: bool
) -> None:
    lake, paths = Lake(tmp_path / "lake"), write(tmp_path / "archives")
    parse(lake, paths[0])
    chosen = turns_with(lake, pl.col("user_text") == prompt)
    listed = [*chosen["turn_id"], *(keys_of_runs(chosen) if of_runs else ())]
    lake = Lake(tmp_path / "later")
    write_forgotten(lake.files, NOTHING.extended((chosen["group_id"][0], one) for one in listed))
    parse(lake, *(paths[:2] if of_runs else paths[:1]))
    assert [turn.user_text for turn in turns(lake)] == left
    runs = {"Find the prices.", "Look around."} if of_runs else set()
    assert prompts_of_runs(lake) == runs


def test_what_a_forgotten_run_started_stays_forgotten_though_it_was_read_before(
    tmp_path: Path,
) -> None:
    lake, (parent, run, nested, *_) = Lake(tmp_path / "lake"), write(tmp_path / "archives")
    parse(lake, parent)
    chosen = turns_with(lake, pl.col("user_text") == "Mend the cart, please.")
    listed = [*chosen["turn_id"], *keys_of_runs(chosen)]
    lake = Lake(tmp_path / "later")
    write_forgotten(lake.files, NOTHING.extended((chosen["group_id"][0], one) for one in listed))
    parse(lake, nested)
    assert "Run the tests." in prompts_of_runs(lake)
    parse(lake, run)
    assert prompts_of_runs(lake) == set()
    parse(lake, nested.rename(nested.with_stem("agent-b3")))
    assert prompts_of_runs(lake) == set()


def prompts_of_runs(lake: Lake) -> set[str]:
    rows = pl.concat(batch.read() for one in lake.groups() for batch in lake.row_batches(one))
    return {*rows.filter(~schema.IS_TURN)["user_text"]}


def test_the_file_beside_a_subagents_archive_says_which_call_started_it(tmp_path: Path) -> None:
    lake, (_, path, *_) = Lake(tmp_path / "lake"), write(tmp_path / "archives")
    about = {"agentType": "fixer", "toolUseId": "toolu_t1"}
    path.with_suffix(".meta.json").write_text(json.dumps(about))
    parse(lake, path)
    rows = lake.read_turns_file(lake.turn_paths()[0])
    assert rows.select("subagent_type", "prompt_id").row(0) == ("fixer", "toolu_t1")


@pytest.mark.archives
@pytest.mark.full
@real_archives.needs_archives
def test_every_call_of_a_subagent_in_real_archives_is_in_one_turn_or_its_parent_is_missing(
    tmp_path: Path,
) -> None:
    lake = Lake(tmp_path / "lake")
    archives = [*real_archives.ARCHIVES.rglob("*.json"), *real_archives.ARCHIVES.rglob("*.jsonl")]
    report = parse(lake, *archives)
    rows = pl.concat([one.read() for group in lake.groups() for one in lake.row_batches(group)])
    runs = rows.filter(~schema.IS_TURN).select("session_id", "agent_id").n_unique()
    joined = sum(len(one.subagents) for one in turns(lake))
    assert runs > 5
    assert runs == joined + sum(one.unjoined_archives for one in report.groups)
