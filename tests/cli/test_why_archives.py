"""`turnetl why` for lines that only the archive shows: of long edits, all but a few lines.

One lake has the archives of all tests: each changes a file of its own. Commands only read it.
"""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.cli.archives import row, tool_call, tool_result, write_archive
from tests.cli.command import CommandResult, run_in_process
from tests.cli.repository import Repository
from tests.redact.canaries import fresh

START = datetime(2026, 3, 3, 9, tzinfo=UTC)
LINES = [f"price_{number} = compute(number={number}, of='the cart')" for number in range(60)]
CONTENT = "".join(f"{line}\n" for line in LINES)


def at(minute: int) -> datetime:
    return START + timedelta(minutes=minute)


def path_of(name: str) -> str:
    return f"src/shop/{name}.py"


def claude_turn(
    name: str, number: int, minute: int, tool: str = "Write", **values: str
) -> list[str]:
    """Return the rows of a turn that changes the file one minute after its prompt."""
    rows = [
        row("user", f"Change the {name}, part {number}", f"{name}-{number}", at(minute)),
        tool_call(f"c{number}", tool, at(minute), file_path=path_of(name), **values),
        tool_result(f"r{number}", f"c{number}", "The file was updated.", at(minute + 1)),
        row("assistant", "Done.", f"a{number}", at(minute + 2)),
    ]
    return [text.replace('"s1"', f'"{name}"') for text in rows]


def codex_turn(patch: str) -> list[str]:
    call = {"type": "custom_tool_call", "call_id": "c1", "name": "apply_patch", "input": patch}
    message = {"type": "message", "role": "user"}
    prompt = message | {"content": [{"type": "input_text", "text": "Change the cart"}]}
    session = {"id": "019cadc6-9a80-7abc-8000-000000000001", "cwd": "/home/dev/shop"}
    items = [
        ("session_meta", session | {"timestamp": at(0).isoformat(), "cli_version": "0.114.0"}),
        ("response_item", prompt),
        ("event_msg", {"type": "user_message", "message": "Change the cart"}),
        ("response_item", call),
        ("response_item", {"type": "custom_tool_call_output", "call_id": "c1", "output": "Done"}),
    ]
    return [
        json.dumps({"timestamp": at(minute).isoformat(), "type": kind, "payload": payload})
        for minute, (kind, payload) in enumerate(items)
    ]


def patched(name: str, lines: list[str]) -> str:
    added = "\n".join(f"+{line}" for line in lines)
    return f"*** Begin Patch\n*** Add File: {path_of(name)}\n{added}\n*** End Patch"


TOKEN = "ghp_" + fresh(36)
WITH_SECRET = CONTENT + f'token = "{TOKEN}"\nowner = "ada@lovelace-shop.org"\n'
LONG = {
    "write": claude_turn("write", 1, 0, content=CONTENT),
    "edit": claude_turn("edit", 1, 0, "Edit", old_string=LINES[0], new_string=CONTENT.rstrip()),
    "patch": codex_turn(patched("patch", LINES)),
}
OTHER = {
    "twice": [
        *claude_turn("twice", 1, 0, content=CONTENT),
        *claude_turn("twice", 2, 60, content=CONTENT),
    ],
    "brace": claude_turn("brace", 1, 0, content=f"{CONTENT}}}\n"),
    "missing": claude_turn("missing", 1, 0, content=CONTENT),
    "changed": claude_turn("changed", 1, 0, content=CONTENT),
    "grown": [
        *claude_turn("grown", 1, 0, content=CONTENT),
        *claude_turn("grown", 2, 60, content="x = 1\n"),
    ],
    "secret": claude_turn("secret", 1, 0, content=WITH_SECRET),
    "excerpt": claude_turn("excerpt", 1, 0, content=f'token = "{TOKEN}"\n'),
}


MORE = [f"total_{number} = add(number={number}, to='the cart')" for number in range(60)]
SUBAGENT = {"isSidechain": True, "agentId": "mason", "sessionId": "team"}


def turn_with_subagent() -> dict[str, list[str]]:
    """Return a turn that writes `LINES`, and a subagent for it that adds `MORE`."""
    task = tool_call("t1", "Task", at(1), prompt="Add the totals").replace('"s1"', '"team"')
    edit = {"old_string": LINES[0], "new_string": "".join(f"{line}\n" for line in MORE)}
    rows = [
        row("user", "Add the totals", "mason-1", at(2), **SUBAGENT),
        tool_call("m1", "Edit", at(2), file_path=path_of("team"), **edit),
        tool_result("n1", "m1", "The file was updated.", at(3)),
    ]
    marked = [json.dumps(json.loads(text) | SUBAGENT) for text in rows]
    return {"team": [*claude_turn("team", 1, 0, content=CONTENT), task], "agent-mason": marked}


class Shop:
    """A repository of one file, and a lake with an archive about it."""

    def __init__(self, lake: Path, folder: Path, name: str) -> None:
        self.name = name
        self.archive = lake / "archives" / f"{name}.jsonl"
        self._lake = lake / ".turnetl/lake"
        self._repository = Repository(folder / name, "shop")
        self._repository.file = self._repository.file.with_name(f"{name}.py")

    def commit(self, content: str, minute: int) -> None:
        self._repository.commit(content, at(minute).isoformat())

    def why(self, line: int) -> dict[str, Any]:
        """Return the commit of a line, with the turns that wrote it."""
        (commit,) = self._run(line, "--json").json["commits"]
        assert isinstance(commit, dict)
        return commit

    def text(self, line: int) -> str:
        return self._run(line).stdout

    def _run(self, line: int, *options: str) -> CommandResult:
        place = ("why", f"{path_of(self.name)}:{line}", *options)
        return run_in_process(*place, "--lake", self._lake, folder=self._repository.folder)


def filled(folder: Path, archives: dict[str, list[str]], *options: str) -> Path:
    for name, rows in archives.items():
        write_archive(folder / "archives" / f"{name}.jsonl", rows)
    result = run_in_process("backfill", "archives", *options, folder=folder)
    assert result.exit_code == 0, result.stderr
    return folder


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return filled(tmp_path_factory.mktemp("lake"), LONG | OTHER | turn_with_subagent())


def prompts(commit: dict[str, Any]) -> list[str]:
    return [turn["prompt"] for turn in commit["turns"]]


def test_a_line_far_down_in_a_long_edit_has_its_turn(
    subtests: pytest.Subtests, lake: Path, tmp_path: Path
) -> None:
    for name in LONG:
        with subtests.test(name=name):
            shop = Shop(lake, tmp_path, name)
            shop.commit(CONTENT, 30)
            commit = shop.why(40)
            assert (commit["certainty"], commit["not_read"]) == ("line", [])
            prompt = "Change the cart" if name == "patch" else f"Change the {name}, part 1"
            assert prompts(commit) == [prompt]


@pytest.mark.full
def test_a_line_that_was_changed_by_hand_is_unknown(lake: Path, tmp_path: Path) -> None:
    shop = Shop(lake, tmp_path, "write")
    shop.commit(CONTENT.replace("number=39,", "number=40,"), 30)
    commit = shop.why(40)
    assert (commit["certainty"], commit["turns"], commit["not_read"]) == ("unknown", [], [])
    assert [turn["prompt"] for turn in commit["candidates"]] == ["Change the write, part 1"]
    assert shop.why(41)["certainty"] == "line"


@pytest.mark.full
def test_of_two_turns_that_wrote_a_line_the_commit_decides(lake: Path, tmp_path: Path) -> None:
    shop = Shop(lake, tmp_path, "twice")
    shop.commit(CONTENT, 30)
    assert prompts(shop.why(40)) == ["Change the twice, part 1"]
    without = "".join(f"{line}\n" for line in LINES if line != LINES[39])
    shop.commit(without, 45)
    shop.commit(CONTENT, 90)
    assert prompts(shop.why(40)) == ["Change the twice, part 2"]


@pytest.mark.full
def test_a_short_line_has_its_turn_if_only_one_added_it(lake: Path, tmp_path: Path) -> None:
    shop = Shop(lake, tmp_path, "brace")
    shop.commit(f"{CONTENT}}}\n", 30)
    assert shop.why(61)["certainty"] == "commit"


@pytest.mark.full
def test_without_its_archive_an_excerpt_is_compared_and_the_answer_says_so(
    lake: Path, tmp_path: Path
) -> None:
    shop = Shop(lake, tmp_path, "missing")
    shop.commit(CONTENT, 30)
    shop.archive.unlink()
    first, far = shop.why(1), shop.why(40)
    assert (first["certainty"], far["certainty"]) == ("line", "unknown")
    (not_read,) = far["not_read"]
    assert (not_read["reason"], not_read["turn_id"]) == ("missing", first["turns"][0]["turn_id"])
    shown = shop.text(40)
    assert f"an archive of {not_read['turn_id'][:8]} is not there" in shown
    assert "at most 260 characters" in shown


@pytest.mark.full
def test_without_the_archive_of_a_subagent_only_its_own_edits_are_excerpts(
    lake: Path, tmp_path: Path
) -> None:
    shop = Shop(lake, tmp_path, "team")
    shop.commit(CONTENT + "".join(f"{line}\n" for line in MORE), 30)
    assert {shop.why(line)["certainty"] for line in (1, 40, 100)} == {"line"}
    shop.archive.with_name("agent-mason.jsonl").unlink()
    own, far = shop.why(40), shop.why(100)
    assert (own["certainty"], far["certainty"]) == ("line", "unknown")
    assert [one["reason"] for one in far["not_read"]] == ["missing"]


@pytest.mark.full
def test_an_archive_that_was_changed_since_is_not_believed(lake: Path, tmp_path: Path) -> None:
    shop = Shop(lake, tmp_path, "changed")
    shop.commit(CONTENT.replace("price_39", "cost_39"), 30)
    changed = CONTENT.replace("price_39", "cost_39").replace("price_0 ", "cost_0 ")
    write_archive(shop.archive, claude_turn("changed", 1, 0, content=changed))
    commit = shop.why(40)
    assert (commit["certainty"], commit["turns"]) == ("unknown", [])
    assert [one["reason"] for one in commit["not_read"]] == ["changed"]
    assert "no longer has the turn as it was read" in shop.text(40)


def test_an_archive_that_only_grew_is_read(lake: Path, tmp_path: Path) -> None:
    shop = Shop(lake, tmp_path, "grown")
    shop.commit(CONTENT, 30)
    later = claude_turn("grown", 3, 90, content="y = 1\n")
    write_archive(shop.archive, [*OTHER["grown"], *later])
    commit = shop.why(40)
    assert (commit["certainty"], commit["not_read"]) == ("line", [])


def test_a_line_with_a_secret_has_its_turn_and_is_never_printed_from_the_archive(
    subtests: pytest.Subtests, lake: Path, tmp_path: Path
) -> None:
    secret = {"secret": OTHER["secret"]}
    lakes = {"": lake, "--redact-pii": filled(tmp_path / "pii", secret, "--redact-pii")}
    for option, used in lakes.items():
        with subtests.test(option=option):
            shop = Shop(used, tmp_path / f"repository{option}", "secret")
            shop.commit(WITH_SECRET, 30)
            commit = shop.why(61)
            assert (commit["certainty"], commit["not_read"]) == ("line", [])
            assert TOKEN not in json.dumps(commit)


@pytest.mark.full
def test_an_excerpt_with_a_secret_is_compared_with_the_redacted_line(
    lake: Path, tmp_path: Path
) -> None:
    shop = Shop(lake, tmp_path, "excerpt")
    shop.commit(f'token = "{TOKEN}"\n', 30)
    shop.archive.unlink()
    assert shop.why(1)["certainty"] == "line"
