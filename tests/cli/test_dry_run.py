"""What can be known before a run: what a model can do, what it would be asked, what steers it."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.command import run_in_process
from tests.cli.provider_setup import model_environment, write_session
from tests.servers.canned_responses import RESPONDERS
from tests.servers.provider import FakeProvider, Fault

KINDS_OF_CALLS = {
    "extract_nodes.extract_message",
    "dedupe_nodes.nodes",
    "extract_edges.edge",
    "dedupe_edges.resolve_edge",
    "extract_edges.extract_timestamps",
    "extract_nodes.extract_summaries_batch",
}


def test_a_model_that_can_do_all_is_said_to(provider: FakeProvider, tmp_path: Path) -> None:
    ran = run_in_process("model", "check", "--json", folder=tmp_path, **model_environment(provider))
    assert (ran.exit_code, ran.json["passed"]) == (0, True)
    assert {one["prompt"] for one in ran.json["checks"]} >= KINDS_OF_CALLS
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_cannot_is_told_what_and_ends_with_one(
    provider: FakeProvider, tmp_path: Path
) -> None:
    provider.responders = {**RESPONDERS, "duplicate_facts": lambda _: {"prose": "I would say so."}}
    ran = run_in_process("model", "check", folder=tmp_path, **model_environment(provider))
    assert ran.exit_code == 1
    assert any("dedupe_edges.resolve_edge" in said for said in ran.messages)
    asked = len(provider.requests)
    run_in_process("model", "check", folder=tmp_path, **model_environment(provider))
    assert len(provider.requests) == 2 * asked


def test_who_waits_for_a_check_does_not_wait_for_five_answers_of_a_kind(
    provider: FakeProvider, tmp_path: Path
) -> None:
    provider.responses = ["Sure, here is what I found."] * 100
    checks = run_in_process(
        "model", "check", "--json", folder=tmp_path, **model_environment(provider)
    ).json["checks"]
    assert max(one["calls"] for one in checks) == 3
    assert all("not JSON" in one["problem"] for one in checks)


def test_a_server_that_ignores_schemas_passes_once_it_is_told_them_in_words(
    provider: FakeProvider, tmp_path: Path
) -> None:
    provider.responses = ["Sure, here is what I found."] * 2
    ran = run_in_process("model", "check", "--json", folder=tmp_path, **model_environment(provider))
    assert (ran.exit_code, ran.json["passed"]) == (0, True)


def test_a_deployment_that_minds_three_things_is_asked_without_them(
    provider: FakeProvider, tmp_path: Path
) -> None:
    minds = (
        "Unsupported value: 'temperature' does not support 0 with this model.",
        "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens'.",
        "max_tokens: 16384 > 8192, which is the maximum allowed number of output tokens",
    )
    provider.faults = [Fault(400, json.dumps({"error": {"message": one}})) for one in minds]
    ran = run_in_process("model", "check", "--json", folder=tmp_path, **model_environment(provider))
    assert (ran.exit_code, ran.json["passed"]) == (0, True)
    rejected = [said.rsplit("` ", 1)[-1] for said in ran.messages if "rejects the par" in said]
    assert rejected == [
        "rejects the parameter `temperature`",
        "rejects the parameter `max_tokens`",
    ]


def test_passes_of_reflexion_are_checked_if_there_are_any(
    provider: FakeProvider, tmp_path: Path
) -> None:
    command = ("model", "check", "--reflexion", "1", "--json")
    checks = run_in_process(*command, folder=tmp_path, **model_environment(provider)).json["checks"]
    assert {"reflexion.entities", "reflexion.facts"} <= {one["prompt"] for one in checks}


@pytest.mark.parametrize(
    ("settings", "says", "code"),
    [
        ({"LLM__PROVIDER": "none"}, "TURNETL_LLM__PROVIDER", 2),
        ({"LLM__MODEL": ""}, "TURNETL_LLM__MODEL", 2),
        ({"LLM__MODELS": "dedub=small"}, "`dedub`", 2),
        ({"LLM__BASE_URL": "http://127.0.0.1:9/v1"}, "did not respond", 1),
    ],
)
def test_a_model_that_is_named_wrongly_is_told_in_a_sentence(
    settings: Mapping[str, str], says: str, code: int, provider: FakeProvider, tmp_path: Path
) -> None:
    ran = run_in_process(
        "model", "check", folder=tmp_path, **model_environment(provider, **settings)
    )
    assert ran.exit_code == code
    assert says in ran.messages[-1]


@pytest.mark.parametrize(
    ("status", "says"),
    [(401, "TURNETL_LLM__API_KEY"), (402, "no credit"), (404, "TURNETL_LLM__MODEL")],
)
def test_a_provider_that_refuses_is_told_in_a_sentence(
    status: int, says: str, provider: FakeProvider, tmp_path: Path
) -> None:
    provider.faults += [Fault(status)] * 40
    ran = run_in_process("model", "check", folder=tmp_path, **model_environment(provider))
    assert (ran.exit_code, len(ran.messages)) == (1, 1)
    assert says in ran.stderr


def test_a_dry_run_shows_the_very_requests_and_sends_none(
    provider: FakeProvider, tmp_path: Path
) -> None:
    write_session(tmp_path / "a.jsonl", 3)
    run_in_process("parse", "a.jsonl", folder=tmp_path)
    run_in_process("filter", folder=tmp_path)
    dry = ("ingest", "--dry-run", "--json")
    shown = run_in_process(
        *dry, "--limit", "2", folder=tmp_path, **model_environment(provider)
    ).json
    assert (provider.requests, shown["pending"]) == ([], 3)
    assert not (tmp_path / "data" / "lake" / "journal.sqlite").exists()
    one = run_in_process(*dry, folder=tmp_path, **model_environment(provider)).json["requests"]
    assert one == shown["requests"][: len(one)]
    assert 0 < len(one) < len(shown["requests"])
    run_in_process("ingest", folder=tmp_path, **model_environment(provider))
    first = [[said["text"] for said in request["messages"]] for request in one]
    sent = [[text for _, text in asked.messages] for asked in provider.requests]
    assert first[0] in sent


def test_a_dry_run_reads_as_the_model_would(provider: FakeProvider, tmp_path: Path) -> None:
    write_session(tmp_path / "a.jsonl", 1)
    run_in_process("parse", "a.jsonl", folder=tmp_path)
    run_in_process("filter", folder=tmp_path)
    said = "Look at the colours, " * 20
    command = ("ingest", "--dry-run", "--preprocessing", said)
    shown = run_in_process(*command, folder=tmp_path, **model_environment(provider))
    assert shown.exit_code == 0
    assert said.strip() in shown.stdout


def test_a_dry_run_without_a_model_says_that_none_is_asked(tmp_path: Path) -> None:
    write_session(tmp_path / "a.jsonl", 1)
    run_in_process("parse", "a.jsonl", folder=tmp_path)
    run_in_process("filter", folder=tmp_path)
    ran = run_in_process("ingest", "--dry-run", "--json", folder=tmp_path)
    assert (ran.exit_code, ran.json["requests"], ran.json["pending"]) == (0, [], 1)
    assert ["no model" in said for said in ran.messages] == [True]


def test_templates_are_listed_with_the_one_that_wins(tmp_path: Path) -> None:
    mine = tmp_path / ".graphiti" / "templates" / "default-session-turn.md"
    mine.parent.mkdir(parents=True)
    mine.write_text("Look for each Decision.")
    home = str(tmp_path / "home")
    entries = run_in_process("templates", "list", "--json", folder=tmp_path, HOME=home).json[
        "templates"
    ]
    (ours,) = (one for one in entries if one["name"] == mine.name)
    assert (ours["path"], ours["source"], ours["used_for"]) == (str(mine), "project", ["all turns"])
    assert [Path(path).name for path in ours["overrides"]] == [mine.name]
    assert (
        run_in_process("templates", "show", mine.name, folder=tmp_path).stdout
        == "Look for each Decision.\n"
    )


def test_a_broken_template_fails_the_check_and_no_other_does(tmp_path: Path) -> None:
    assert run_in_process("templates", "check", folder=tmp_path).exit_code == 0
    broken = tmp_path / ".graphiti" / "templates" / "broken.md"
    broken.parent.mkdir(parents=True)
    broken.write_text("---\nname: broken\nLook.")
    ran = run_in_process("templates", "check", folder=tmp_path)
    assert ran.exit_code == 1
    assert "broken.md" in ran.stdout
    assert (
        run_in_process("templates", "check", "default-session-turn.md", folder=tmp_path).exit_code
        == 0
    )
    assert run_in_process("templates", "check", "broken.md", folder=tmp_path).exit_code == 1


@pytest.mark.parametrize("command", ["show", "check"])
def test_a_template_that_is_not_there_is_refused_with_those_that_are(
    command: str, tmp_path: Path
) -> None:
    ran = run_in_process("templates", command, "nope.md", folder=tmp_path)
    assert (ran.exit_code, len(ran.messages)) == (2, 1)
    assert "default-session-turn.md" in ran.stderr


def test_another_ontology_reaches_the_model_and_makes_turns_stale(
    provider: FakeProvider, tmp_path: Path
) -> None:
    write_session(tmp_path / "a.jsonl", 1)
    run_in_process("backfill", "a.jsonl", folder=tmp_path, **model_environment(provider))
    own = tmp_path / ".graphiti" / "templates" / "ontology" / "garden.toml"
    own.parent.mkdir(parents=True)
    own.write_text(
        '[entities]\nPlant = "What grows in a bed."\n\n[relations]\nGROWS_IN = "A plant."\n'
    )
    config = tmp_path / "graphiti.config.json"
    config.write_text(json.dumps({"extraction": {"ontology": "garden.toml"}}))
    status = run_in_process("status", "--json", folder=tmp_path, **model_environment(provider)).json
    assert status["groups"][0]["stale_reasons"] == {"recipe_changed": 1}
    provider.requests = []
    elsewhere = f"ladybug://{tmp_path / 'other.lbug'}"
    run_in_process("ingest", "--graph", elsewhere, folder=tmp_path, **model_environment(provider))
    texts = [text for asked in provider.requests for _, text in asked.messages]
    assert any("What grows in a bed." in text for text in texts)


def test_an_embedder_that_does_not_answer_is_found_out_before_a_run(
    provider: FakeProvider, tmp_path: Path
) -> None:
    nowhere = {"PROVIDER": "openai-compatible", "MODEL": "m", "BASE_URL": "http://127.0.0.1:9/v1"}
    settings = model_environment(
        provider, **{f"EMBEDDER__{name}": value for name, value in nowhere.items()}
    )
    ran = run_in_process("model", "check", "--json", folder=tmp_path, **settings)
    assert ran.exit_code == 1
    assert [one["prompt"] for one in ran.json["checks"] if not one["passed"]] == ["embeddings"]
