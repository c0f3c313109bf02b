"""`turnetl why` for lines that only the archive shows: of long edits, all but a few lines."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.cli.archives import row, tool_call, tool_result, write_archive
from tests.cli.command import run_in_process
from tests.cli.repository import Repository
from tests.redact.canaries import fresh

START = datetime(2026, 3, 3, 9, tzinfo=UTC)
PATH = "src/shop/cart.py"
LINES = [f"price_{number} = compute(number={number}, of='the cart')" for number in range(60)]
CONTENT = "".join(f"{line}\n" for line in LINES)


def at(minute: int) -> datetime:
    return START + timedelta(minutes=minute)


def claude_turn(number: int, minute: int, tool: str = "Write", **values: str) -> list[str]:
    """Return the rows of a turn that changes the file one minute after its prompt."""
    return [
        row("user", f"Change the cart, part {number}", f"u{number}", at(minute)),
        tool_call(f"c{number}", tool, at(minute), file_path=PATH, **values),
        tool_result(f"r{number}", f"c{number}", "The file was updated.", at(minute + 1)),
        row("assistant", "Done.", f"a{number}", at(minute + 2)),
    ]


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


class Shop:
    """The repository `shop`, and a lake of one archive about it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.archive = folder / "archives/a.jsonl"
        self.repository = Repository(folder, "shop")

    def backfill(self, rows: list[str], *options: str) -> None:
        write_archive(self.archive, rows)
        result = run_in_process("backfill", self.archive, *options, folder=self.folder)
        assert result.exit_code == 0, result.stderr

    def commit(self, content: str, minute: int) -> None:
        self.repository.commit(content, at(minute).isoformat())

    def why(self, line: int) -> dict[str, Any]:
        """Return the commit of a line, with the turns that wrote it."""
        lake = self.folder / ".turnetl/lake"
        options = ("why", f"{PATH}:{line}", "--lake", lake, "--json")
        (commit,) = run_in_process(*options, folder=self.repository.folder).json["commits"]
        assert isinstance(commit, dict)
        return commit

    def text(self, line: int) -> str:
        lake = self.folder / ".turnetl/lake"
        options = ("why", f"{PATH}:{line}", "--lake", lake)
        return run_in_process(*options, folder=self.repository.folder).stdout


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def prompts(commit: dict[str, Any]) -> list[str]:
    return [turn["prompt"] for turn in commit["turns"]]


def patched(lines: list[str]) -> str:
    added = "\n".join(f"+{line}" for line in lines)
    return f"*** Begin Patch\n*** Add File: {PATH}\n{added}\n*** End Patch"


@pytest.mark.parametrize(
    ("rows", "prompt"),
    [
        (claude_turn(1, 0, content=CONTENT), "Change the cart, part 1"),
        (
            claude_turn(1, 0, "Edit", old_string=LINES[0], new_string=CONTENT.rstrip()),
            "Change the cart, part 1",
        ),
        (codex_turn(patched(LINES)), "Change the cart"),
    ],
    ids=["Write", "Edit", "apply_patch"],
)
def test_a_line_far_down_in_a_long_edit_has_its_turn(
    rows: list[str], prompt: str, shop: Shop
) -> None:
    shop.backfill(rows)
    shop.commit(CONTENT, 30)
    commit = shop.why(40)
    assert (commit["certainty"], prompts(commit), commit["not_read"]) == ("line", [prompt], [])


def test_a_line_that_was_changed_by_hand_is_unknown(shop: Shop) -> None:
    shop.backfill(claude_turn(1, 0, content=CONTENT))
    shop.commit(CONTENT.replace("number=39,", "number=40,"), 30)
    commit = shop.why(40)
    assert (commit["certainty"], commit["turns"], commit["not_read"]) == ("unknown", [], [])
    assert [turn["prompt"] for turn in commit["candidates"]] == ["Change the cart, part 1"]
    assert shop.why(41)["certainty"] == "line"


def test_of_two_turns_that_wrote_a_line_the_commit_decides(shop: Shop) -> None:
    shop.backfill([*claude_turn(1, 0, content=CONTENT), *claude_turn(2, 60, content=CONTENT)])
    shop.commit(CONTENT, 30)
    assert prompts(shop.why(40)) == ["Change the cart, part 1"]
    without = "".join(f"{line}\n" for line in LINES if line != LINES[39])
    shop.commit(without, 45)
    shop.commit(CONTENT, 90)
    assert prompts(shop.why(40)) == ["Change the cart, part 2"]


def test_a_short_line_has_its_turn_if_only_one_added_it(shop: Shop) -> None:
    shop.backfill([*claude_turn(1, 0, content=f"{CONTENT}}}\n")])
    shop.commit(f"{CONTENT}}}\n", 30)
    assert shop.why(61)["certainty"] == "commit"


def test_without_its_archive_an_excerpt_is_compared_and_the_answer_says_so(shop: Shop) -> None:
    shop.backfill(claude_turn(1, 0, content=CONTENT))
    shop.commit(CONTENT, 30)
    shop.archive.unlink()
    first, far = shop.why(1), shop.why(40)
    assert (first["certainty"], far["certainty"]) == ("line", "unknown")
    (not_read,) = far["not_read"]
    assert (not_read["reason"], not_read["turn_id"]) == ("missing", first["turns"][0]["turn_id"])
    assert f"the archive of {not_read['turn_id'][:8]} is not there" in shop.text(40)
    assert "at most 260 characters" in shop.text(40)


def test_an_archive_that_was_changed_since_is_not_believed(shop: Shop) -> None:
    shop.backfill(claude_turn(1, 0, content=CONTENT))
    shop.commit(CONTENT.replace("price_39", "cost_39"), 30)
    changed = CONTENT.replace("price_39", "cost_39").replace("price_0 ", "cost_0 ")
    write_archive(shop.archive, claude_turn(1, 0, content=changed))
    commit = shop.why(40)
    assert (commit["certainty"], commit["turns"]) == ("unknown", [])
    assert [one["reason"] for one in commit["not_read"]] == ["changed"]
    assert "no longer has the turn as it was read" in shop.text(40)


def test_an_archive_that_only_grew_is_read(shop: Shop) -> None:
    rows = claude_turn(1, 0, content=CONTENT)
    shop.backfill([*rows, *claude_turn(2, 60, content="x = 1\n")])
    shop.commit(CONTENT, 30)
    write_archive(
        shop.archive,
        [*rows, *claude_turn(2, 60, content="x = 1\n"), *claude_turn(3, 90, content="y = 1\n")],
    )
    commit = shop.why(40)
    assert (commit["certainty"], commit["not_read"]) == ("line", [])


@pytest.mark.parametrize("option", [(), ("--redact-pii",)])
def test_a_line_with_a_secret_has_its_turn_and_is_never_printed_from_the_archive(
    option: tuple[str, ...], shop: Shop
) -> None:
    token = "ghp_" + fresh(36)
    content = CONTENT + f'token = "{token}"\nowner = "ada@lovelace-shop.org"\n'
    shop.backfill(claude_turn(1, 0, content=content), *option)
    shop.commit(content, 30)
    commit = shop.why(61)
    assert (commit["certainty"], commit["not_read"]) == ("line", [])
    assert token not in json.dumps(commit)


def test_an_excerpt_with_a_secret_is_compared_with_the_redacted_line(shop: Shop) -> None:
    token = "ghp_" + fresh(36)
    content = f'token = "{token}"\n'
    shop.backfill(claude_turn(1, 0, content=content))
    shop.commit(content, 30)
    shop.archive.unlink()
    assert shop.why(1)["certainty"] == "line"
