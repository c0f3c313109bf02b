"""`turnetl report`: one page about everything, whatever of it exists."""

import json
import re
import shutil
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import turnetl
from tests.cli.archives import conversation, tool_call, tool_result, write_archive
from tests.cli.command import SAMPLES, CommandResult, run_in_process
from tests.cli.provider_setup import SESSION_START, model_environment, write_session
from tests.html.html_parsing import ParsedPage
from tests.html.test_pages import HOSTILE
from tests.servers.provider import FakeProvider
from turnetl.lake import Lake

PAGE = "report.html"


@pytest.fixture(scope="module")
def folder(filled_samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the graph of the samples."""
    return shutil.copytree(filled_samples, tmp_path_factory.mktemp("report"), dirs_exist_ok=True)


@dataclass(frozen=True)
class WrittenReport:
    """What the command printed about the samples, and its page."""

    json: dict[str, Any]
    html: str
    parsed: ParsedPage
    mode: int


@pytest.fixture(scope="module")
def whole(folder: Path) -> WrittenReport:
    printed = report(folder).json
    html = (folder / PAGE).read_text("utf-8")
    return WrittenReport(printed, html, ParsedPage(html), (folder / PAGE).stat().st_mode & 0o777)


def report(folder: Path, *options: str, **environment: str) -> CommandResult:
    command = ("report", "--output", PAGE, *options, "--json")
    result = run_in_process(*command, folder=folder, **environment)
    assert result.exit_code == 0, result.stderr
    return result


def page(folder: Path, *options: str, **environment: str) -> ParsedPage:
    report(folder, *options, **environment)
    return ParsedPage((folder / PAGE).read_text("utf-8"))


def text(folder: Path, *options: str, **environment: str) -> str:
    return " ".join(page(folder, *options, **environment).text.split())


def tables(rendered: str) -> dict[str, list[str]]:
    """The cells of each row of all tables, by the text of its head."""
    rows = re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', rendered)
    return {
        re.sub("<.*?>", "", head): [
            re.sub("<.*?>", "", cell) for cell in re.findall(r"<td.*?>(.*?)</td>", cells)
        ]
        for head, cells in rows
    }


@pytest.mark.full
def test_the_report_has_the_numbers_of_the_other_commands(
    folder: Path, whole: WrittenReport
) -> None:
    groups = run_in_process("status", "--json", folder=folder).json["groups"]
    assert whole.json["turns"] == sum(group["turns"] for group in groups)
    assert whole.json["projects"] == len(groups)
    assert whole.json["bytes"] == len(whole.html.encode())
    assert whole.json["missing"] == []
    committed = sum(group["committed"] for group in groups)
    assert f"In the graph{committed}" in whole.parsed.text


@pytest.mark.full
def test_a_turn_that_a_fork_of_a_fork_repeats_under_another_id_counts_once(tmp_path: Path) -> None:
    origins = [("s0", None), ("s1", "s0"), ("s2", "s1")]
    for session, origin in origins:
        rows = conversation("Why?", session=session, at=SESSION_START)
        if origin is not None:
            rows = [
                json.dumps(values | {"forkedFrom": {"sessionId": origin, "messageUuid": uuid}})
                for values in map(json.loads, rows)
                for uuid in [values["uuid"].replace(session, origin)]
            ]
        write_archive(tmp_path / "archives" / f"{session}.jsonl", rows)
    assert run_in_process("backfill", "archives", folder=tmp_path).exit_code == 0
    assert report(tmp_path).json["turns"] == 1


@pytest.mark.full
def test_the_page_has_decisions_entities_errors_noise_and_tokens(whole: WrittenReport) -> None:
    shown = " ".join(whole.parsed.text.split())
    assert "move everything to integer cents" in shown
    assert "src/bookshop/catalogue.py" in shown
    assert "KeyError: 'price'" in shown
    assert "Fixed 2026-05-05 10:54 in The accountant" in shown
    assert "Tokens by model" in shown


@pytest.mark.full
def test_the_tokens_of_subagents_are_counted_by_model_and_project(whole: WrittenReport) -> None:
    """Those of two archives: `agent-a7c41fe.jsonl`, and rows in `2026-02-21-first-steps.jsonl`."""
    rows = tables(whole.html)
    in_no_turn = {"claude-haiku-4-5": "53,885", "claude-sonnet-4-20250514": "49,384"}
    assert {name: rows[name][7] for name in in_no_turn} == in_no_turn
    assert rows["claude_code"][7] == f"{53_885 + 49_384:,}"
    haiku = ["0", "53,885", "19", "5,769", "47,929", "168", "-"]
    assert rows["claude-haiku-4-5"][:7] == haiku


@pytest.mark.full
def test_archives_whose_tokens_are_not_all_recorded_are_counted_with_the_remedy(
    tmp_path: Path,
) -> None:
    run_in_process("parse", SAMPLES, folder=tmp_path)
    lake = Lake(tmp_path / ".turnetl" / "lake")
    for file in lake.turn_files():
        older = replace(file.metadata, subagent_usage=None, tokens=0)
        lake.write_turns(lake.read_turns_file(file.path), older)
    sentence = (
        "tokens of the cache, and some of subagents, in 10 archives, because an earlier version"
    )
    assert any(sentence in one for one in report(tmp_path).json["missing"])
    run_in_process("parse", SAMPLES, folder=tmp_path)
    assert not any(sentence in one for one in report(tmp_path).json["missing"])


@pytest.mark.full
def test_every_turn_that_is_named_has_its_archive_and_line(
    folder: Path, whole: WrittenReport
) -> None:
    parsed = whole.parsed
    anchors = {one for one in parsed.attributes("id") if one.startswith("turn-")}
    turns = run_in_process("timeline", "-n", "999", "--json", folder=folder).json["turns"]
    assert {f"turn-{turn['turn_id']}" for turn in turns} <= anchors
    for turn in turns:
        assert f"{turn['archive']}:{turn['first_line']}" in parsed.text
    links = {href for href in parsed.attributes("href") if href.startswith("file:")}
    assert links >= {Path(turn["archive"]).as_uri() for turn in turns}


@pytest.mark.full
def test_only_the_turns_of_the_group_and_the_time_are_in_the_report(folder: Path) -> None:
    written = report(folder, "--group", "bookshop", "--since", "2026-03-10", "--until", "2026-03")
    timeline = ("timeline", "-n", "999", "--group", "bookshop", "--since", "2026-03-10")
    turns = run_in_process(*timeline, "--until", "2026-03", "--json", folder=folder).json["turns"]
    shown = (folder / PAGE).read_text("utf-8")
    assert written.json["projects"] == 1
    assert written.json["turns"] >= len(turns) > 0
    assert "shoebox" not in shown
    assert "integer cents rather" not in shown


def test_an_earlier_private_page_is_replaced_and_no_other_file(
    folder: Path, whole: WrittenReport, tmp_path: Path
) -> None:
    again = run_in_process("report", "--output", PAGE, folder=folder)
    assert again.exit_code == 0
    assert "30 turns of 8 sessions in 2 projects" in again.stdout.splitlines()[0]
    assert whole.mode == (folder / PAGE).stat().st_mode & 0o777 == 0o600
    notes = tmp_path / "notes.html"
    notes.write_text("<!DOCTYPE html><p>mine", encoding="utf-8")
    result = run_in_process("report", "--output", str(notes), folder=folder)
    assert result.exit_code == 2
    assert "is no page of turnetl" in result.stderr
    assert notes.read_text("utf-8").endswith("mine")


def test_a_place_that_is_no_file_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    for place in (".", "missing/report.html"):
        result = run_in_process("report", "--output", place, folder=tmp_path)
        assert (result.exit_code, list(tmp_path.iterdir())) == (2, []), place
        assert "name a file for the page" in result.stderr


def test_an_unknown_group_is_refused_and_writes_no_page(folder: Path) -> None:
    result = run_in_process("report", "--output", "x.html", "--group", "nowhere", folder=folder)
    assert result.exit_code == 2
    assert "there is no group `nowhere`; existing groups: bookshop, shoebox" in result.stderr
    assert not (folder / "x.html").exists()


@pytest.mark.full
def test_without_a_lake_and_a_graph_the_page_says_what_to_do(tmp_path: Path) -> None:
    written = report(tmp_path)
    assert written.json["turns"] == 0
    [sentence] = written.json["missing"]
    assert sentence.startswith("Not in the report: decisions, entities, errors, runs, because ")
    assert "there is no graph" in sentence
    assert "run `turnetl backfill" in text(tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == [PAGE]


@pytest.mark.full
def test_without_a_graph_the_page_has_what_the_lake_holds(tmp_path: Path) -> None:
    run_in_process("parse", SAMPLES, folder=tmp_path)
    parsed = report(tmp_path)
    assert parsed.json["turns"] == 30
    assert "unfiltered: 30" in text(tmp_path)
    run_in_process("filter", folder=tmp_path)
    shown = text(tmp_path)
    assert "ready: 27" in shown
    assert "The graph was not read" in shown
    assert "there is no graph" in parsed.stderr


@pytest.mark.full
def test_turns_that_the_lake_has_lost_are_in_the_report(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    lake = tmp_path / ".turnetl" / "lake"
    for name in ("turns", "episodes"):
        shutil.rmtree(lake / name)
    shown = text(tmp_path)
    assert "27 turns are only in the graph" in shown
    assert "The checkout tests fail since I pulled" in shown


@pytest.mark.full
def test_the_cost_of_the_model_is_shown_by_prompt_by_project_and_by_run(
    provider: FakeProvider, tmp_path: Path
) -> None:
    environment = model_environment(provider)
    write_session(tmp_path / "a.jsonl", 2)
    run_in_process("backfill", "a.jsonl", folder=tmp_path, **environment)
    journal = run_in_process("journal", "stats", "--json", folder=tmp_path, **environment).json
    report(tmp_path)
    rows = tables((tmp_path / PAGE).read_text("utf-8"))
    assert journal["by_prompt"]
    for prompt, totals in journal["by_prompt"].items():
        assert rows[prompt][1] == f"{totals['prompt_tokens']:,}"
    assert rows["shop"][-1] == "unknown"
    [run] = run_in_process("runs", "--json", folder=tmp_path).json["runs"]
    assert rows[run["run_id"][:8]][2:4] == ["openai-compatible/canned", "2"]


@pytest.mark.full
def test_the_cost_by_project_is_of_the_selected_turns_and_the_page_says_what_is_not(
    provider: FakeProvider, tmp_path: Path
) -> None:
    write_session(tmp_path / "a.jsonl", 2)
    run_in_process("backfill", "a.jsonl", folder=tmp_path, **model_environment(provider))
    report(tmp_path)
    of_all = tables((tmp_path / PAGE).read_text("utf-8"))["shop"]
    second = (SESSION_START + timedelta(minutes=30)).isoformat()
    halves = []
    for option in ("--until", "--since"):
        shown = text(tmp_path, option, second)
        assert "those of the whole lake, not only of the selected turns" in shown
        assert "Each run with all turns that it wrote" in shown
        halves.append(tables((tmp_path / PAGE).read_text("utf-8"))["shop"])
    assert [int(half[0]) > 0 for half in halves] == [True, True]
    assert sum(int(half[0]) for half in halves) == int(of_all[0])
    assert "not only of the selected turns" not in text(tmp_path)


@pytest.mark.full
def test_turns_that_a_new_recipe_would_commit_differently_are_stale_with_their_reason(
    provider: FakeProvider, tmp_path: Path
) -> None:
    write_session(tmp_path / "a.jsonl", 2)
    run_in_process("backfill", "a.jsonl", folder=tmp_path)
    shown = text(tmp_path, **model_environment(provider))
    assert "recipe changed: 2" in shown
    assert "Look again at the shop, please" in shown.partition("Stale turns")[2]


@pytest.mark.full
def test_a_quarantined_turn_is_listed_with_its_error_and_its_line(
    folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    [turn] = run_in_process("timeline", "-n", "1", "--json", folder=tmp_path).json["turns"]
    run_in_process("undo", "--session", turn["session_id"], "--yes", folder=tmp_path)
    quarantine = tmp_path / ".turnetl" / "lake" / "quarantine" / turn["group"]
    quarantine.mkdir(parents=True)
    entry = {
        "turn_id": turn["turn_id"],
        "error": "the model refused <b>it</b>",
        "archive": turn["archive"],
        "first_line": turn["first_line"],
        "run_id": "r",
        "failed_at": "2026-05-05T10:00:00Z",
    }
    (quarantine / f"{turn['turn_id']}.json").write_text(json.dumps(entry), encoding="utf-8")
    shown = text(tmp_path)
    assert "the model refused <b>it</b> 2026-05-05 10:00" in shown
    assert "ready: 1" in shown


@pytest.mark.full
def test_a_damaged_table_is_named_and_the_other_groups_are_shown(
    folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    table = tmp_path / ".turnetl" / "lake" / "episodes" / "shoebox.parquet"
    table.write_bytes(table.read_bytes()[:-40])
    written = report(tmp_path).json
    assert any("shoebox.parquet" in one for one in written["missing"])
    shown = text(tmp_path)
    assert "The accountant needs the orders" in shown
    assert "9 turns are only in the graph" in shown


@pytest.mark.full
def test_personal_data_is_redacted_and_nothing_links_to_an_archive(tmp_path: Path) -> None:
    home = tmp_path / "home" / "kimlee" / ".claude"
    rows = conversation("write to kim.lee@shop-of-kim.com", "Done, Kim", at=SESSION_START)
    write_archive(home / "s1.jsonl", rows)
    run_in_process("backfill", home, folder=tmp_path)
    assert "kim.lee@" in text(tmp_path)
    redacted = page(tmp_path, "--redact-personal")
    assert "kim.lee@" not in redacted.text
    assert "[REDACTED:email:" in redacted.text
    assert not [href for href in redacted.attributes("href") if href.startswith("file:")]
    assert "s1.jsonl:1" in redacted.text


def hostile_archive(folder: Path, number: int, text: str) -> None:
    """Write a session with a text in every field of its rows, and in the name of its archive."""
    quoted = json.dumps(text)[1:-1]
    rows = [
        *conversation(f"We decided to use `{text}` {text}", f"I chose sqlite {text}"),
        tool_call("c1", f"Bash{text}", SESSION_START, command=f"pytest {text}"),
        tool_result("r1", "c1", f"KeyError: {text}", SESSION_START),
        tool_call("c2", "Edit", SESSION_START, file_path=f"/home/dev/{text}", new_string=text),
        tool_result("r2", "c2", text, SESSION_START),
    ]
    rows = [
        one.replace("/home/dev/shop", f"/home/dev/{quoted}").replace('"s1', f'"s{number}')
        for one in rows
    ]
    name = text.replace("/", "-").replace("\0", "")[:60]
    write_archive(folder / f"{name}.jsonl", rows)


def test_no_text_of_an_archive_becomes_markup(tmp_path: Path) -> None:
    planted = [one for one in HOSTILE if "\ud800" not in one]
    for number, text in enumerate(planted):
        hostile_archive(tmp_path / "archives", number, text)
    assert run_in_process("backfill", "archives", folder=tmp_path).exit_code in (0, 1, 3)
    parsed = page(tmp_path)
    names = parsed.names()
    assert names.isdisjoint({"script", "img", "iframe", "object", "form", "base", "link"})
    assert not [name for _, found in parsed.tags for name in found if name.startswith("on")]
    assert all(href.startswith(("#", "file:///")) for href in parsed.attributes("href"))
    # Titles leave closing tags out.
    beginnings = {text.split(maxsplit=1)[0][:12] for text in planted if not text.startswith("</")}
    assert {one for one in beginnings if one not in parsed.text} == set()


@pytest.mark.full
async def test_the_public_function_writes_the_same_page(folder: Path, tmp_path: Path) -> None:
    settings = turnetl.Settings(lake=folder / ".turnetl" / "lake")
    written = await turnetl.write_report(tmp_path / PAGE, settings, groups=["bookshop"])
    assert (written.projects, written.path, written.missing) == (1, tmp_path / PAGE, ())
    assert written.bytes == (tmp_path / PAGE).stat().st_size
