"""`turnetl entity`: two entities become one, stay so, and become two again."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.cli.archives import conversation, write_archive
from tests.cli.command import CommandResult, run_in_process
from tests.cli.provider_setup import SESSION_START, model_environment
from tests.servers.provider import FakeProvider

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


def test_duplicates_that_are_certain_become_one_for_old_and_new_turns(tmp_path: Path) -> None:
    prompts = [
        "We decided to use `time zone` for every price, because it rounds down.",
        "We decided to show `timezone` instead of a sum, because it has the tax in it.",
        "We decided to keep the health check, because the balancer needs it.",
        "We decided to show the healthcheck first, because it is asked for.",
    ]
    _session(tmp_path, "a", prompts)
    assert _run(tmp_path, "backfill", "a.jsonl", "--close-after", "0").exit_code == 0
    listed = _run(tmp_path, "entity", "duplicates", "--group", _GROUP, "--json").json
    certain, uncertain = listed["duplicates"]
    assert (certain["form"], uncertain["form"], listed["redo"]) == (
        "spelling",
        "abbreviation",
        None,
    )
    assert uncertain["certainty"] < listed["certain_from"] <= certain["certainty"]
    lines = [one["first_turns"][0]["first_line"] for one in (certain["kept"], certain["merged"])]
    assert lines == [1, 3]
    assert "1 of them certain" in _run(tmp_path, "entity", "duplicates").stdout
    assert not (tmp_path / "lake" / "merged_entities.json").exists()
    merged = _run(tmp_path, "entity", "duplicates", "--yes", "--json").json
    assert [group["error"] for group in merged["redo"]["groups"]] == [None]
    [rest] = _run(tmp_path, "entity", "duplicates", "--yes", "--json").json["duplicates"]
    assert rest == uncertain
    _session(tmp_path, "b", ["What is `timezone` below the cart?"], day=7)
    assert _run(tmp_path, "backfill", "b.jsonl", "--close-after", "0").exit_code == 0
    found = _run(tmp_path, "entity", "timezone", "--json").json["entity"]
    assert (found["name"], found["aliases"]) == ("time zone", ["timezone"])
    assert _run(tmp_path, "entity", "split", "time zone", "timezone", "--yes").exit_code == 0
    again = _run(tmp_path, "entity", "duplicates", "--json").json["duplicates"]
    assert [pair["form"] for pair in again] == ["spelling", "abbreviation"]


@pytest.mark.full
def test_duplicates_of_a_model_stay_one_when_their_turns_are_redone_and_cost_no_request_again(
    tmp_path: Path, provider: FakeProvider
) -> None:
    texts = ["`part-job` uses `sqlite`.", "`other` uses `sqlite`.", "`part_jobs` uses `sqlite`."]
    rows = [
        row
        for hour, text in enumerate(texts)
        for row in conversation(text, session=f"s{hour}", at=SESSION_START + timedelta(hours=hour))
    ]
    write_archive(tmp_path / "a.jsonl", rows)

    def run(*arguments: str) -> CommandResult:
        return run_in_process(*arguments, folder=tmp_path, **model_environment(provider))

    assert run("backfill", "a.jsonl", "--close-after", "0").exit_code == 0
    [pair] = run("entity", "duplicates", "--json").json["duplicates"]
    assert (pair["form"], pair["shared_facts"]) == ("plural", ["part_jobs uses sqlite"])
    assert run("entity", "duplicates", "--yes").exit_code == 0
    sent = len(provider.requests)
    assert run("redo", "--group", _GROUP, "--yes").exit_code == 0
    assert len(provider.requests) == sent
    assert run("entity", "duplicates", "--json").json["duplicates"] == []
    assert run("entity", "part-job", "--json").json["entity"]["name"] == "part_jobs"
