"""`turnetl entity`: two entities become one, stay so, and become two again."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import CommandResult, run_in_process

_GROUP = "shop"


def _session(folder: Path, name: str, prompts: list[str], *, day: int = 1) -> None:
    """Write a session of Claude Code in the project `shop` with one turn for each prompt."""
    rows: list[dict[str, Any]] = []
    for number, prompt in enumerate(prompts):
        common = {
            "sessionId": name,
            "cwd": "/home/dev/shop",
            "version": "2.0.0",
            "isSidechain": False,
        }
        asked = {"role": "user", "content": prompt}
        said = {
            "role": "assistant",
            "id": f"{name}{number}",
            "model": "m",
            "content": [{"type": "text", "text": "It is noted."}],
        }
        for kind, message, second in (("user", asked, 0), ("assistant", said, 5)):
            uuid = f"{name}-{number}-{kind}"
            at = f"2026-03-0{number + day}T09:00:0{second}.000Z"
            rows.append(
                {
                    "type": kind,
                    "uuid": uuid,
                    "parentUuid": None,
                    "timestamp": at,
                    "message": message,
                    **common,
                }
            )
    text = "\n".join(map(json.dumps, rows))
    (folder / f"{name}.jsonl").write_text(text + "\n")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Return a folder whose graph knows `orderTotal` and `grandTotal`."""
    prompts = [
        "We decided to use `orderTotal` for every price, because it rounds down.",
        "We decided to show `grandTotal` instead of a sum, because it has the tax in it.",
    ]
    _session(tmp_path, "a", prompts)
    assert _run(tmp_path, "backfill", "a.jsonl", "--close-after", "0").exit_code == 0
    return tmp_path


def _run(folder: Path, *arguments: str) -> CommandResult:
    return run_in_process(*arguments, folder=folder)


def test_a_merge_holds_for_old_and_new_turns_until_it_is_split(shop: Path) -> None:
    before = _run(shop, "entity", "grandTotal", "--json").json["entity"]
    for _ in range(2):  # merging twice is safe
        assert _run(shop, "entity", "merge", "orderTotal", "grandTotal", "--yes").exit_code == 0
        found = _run(shop, "entity", "grandTotal", "--json").json["entity"]
        assert (found["name"], found["aliases"]) == ("orderTotal", ["grandTotal"])
    _session(shop, "b", ["What is `grandTotal` below the cart?"], day=5)
    assert _run(shop, "backfill", "b.jsonl", "--close-after", "0").exit_code == 0
    assert _run(shop, "redo", "--group", _GROUP, "--yes").exit_code == 0
    assert _run(shop, "entity", "grandTotal", "--json").json["entity"] == found
    assert _run(shop, "verify").exit_code == 0
    assert _run(shop, "entity", "split", "orderTotal", "grandTotal", "--yes").exit_code == 0
    assert _run(shop, "entity", "grandTotal", "--json").json["entity"] == before
    assert _run(shop, "entity", "orderTotal", "--json").json["entity"]["aliases"] == []


def test_a_dry_run_and_a_refused_merge_write_nothing(shop: Path) -> None:
    before = {path: path.read_bytes() for path in shop.rglob("*.json*") if path.is_file()}
    refused = {
        ("merge", "orderTotal", "grandTotal", "--dry-run"): (0, "repeats 1 turn"),
        ("merge", "orderTotal", "grandSum", "--yes"): (2, "there is no entity `grandSum`"),
        ("split", "orderTotal", "grandTotal", "--yes"): (2, "was not merged into `orderTotal`"),
    }
    for arguments, (code, said) in refused.items():
        result = _run(shop, "entity", *arguments)
        assert result.exit_code == code
        assert said in result.stdout + result.stderr
    assert not (shop / "lake" / "merged_entities.json").exists()
    assert before == {path: path.read_bytes() for path in before}


def test_a_merge_of_names_that_were_forgotten_is_forgotten(shop: Path) -> None:
    assert _run(shop, "entity", "merge", "orderTotal", "grandTotal", "--yes").exit_code == 0
    listed = next(shop.rglob("merged_entities.json"))
    assert "grandTotal" in listed.read_text()
    forgotten = _run(shop, "forget", "--match", "grandTotal", "--yes")
    assert forgotten.exit_code == 0, forgotten.stderr
    assert "grandTotal" not in listed.read_text()
