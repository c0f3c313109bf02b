"""`turnetl schema`: the JSON Schemas against which the other tests validate all real output."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from tests.cli.archives import conversation, write_archive
from tests.cli.command import run_in_process
from tests.cli.provider_setup import SESSION_START, model_environment, write_session
from tests.servers.provider import FakeProvider, serving
from turnetl.base.result_schema import encoded_type
from turnetl.base.results import ErrorOutput, encoded
from turnetl.json_output.schemas import OUTPUTS, json_schema

ARGUMENTS = {
    "backfill": ("backfill", "a.jsonl"),
    "plan": ("plan", "a.jsonl"),
    "sources": ("sources",),
    "parse": ("parse", "a.jsonl"),
    "filter": ("filter",),
    "filter --explain": ("filter", "--explain", "acknowledgement"),
    "ingest": ("ingest",),
    "ingest --dry-run": ("ingest", "--dry-run"),
    "retry": ("retry",),
    "retry --dry-run": ("retry", "--dry-run"),
    "status": ("status",),
    "runs": ("runs",),
    "report": ("report", "--output", "report.html"),
    "search": ("search", "shop"),
    "index": ("index",),
    "digest": ("digest",),
    "sessions": ("sessions",),
    "export": ("export", "--output", "out"),
    "install": ("install", "--all"),
    "uninstall": ("uninstall", "--all"),
    "sql": ("sql", "FROM turns"),
    "formats": ("formats",),
    "rules": ("rules",),
    "config show": ("config", "show"),
    "trust": ("trust", "--list"),
    "communities build": ("communities", "build"),
    "graph upgrade": ("graph", "upgrade"),
    "migrate plan": ("migrate", "plan", "a.jsonl"),
    "summarize": ("summarize",),
    "schema": ("schema",),
    "schema --command": ("schema", "journal", "stats"),
    "templates list": ("templates", "list"),
    "templates show": ("templates", "show", "default-session-turn.md"),
    "templates copy": ("templates", "copy", "default-session-turn.md"),
    "templates check": ("templates", "check"),
    "model check": ("model", "check"),
    "journal stats": ("journal", "stats"),
    "journal prune": ("journal", "prune", "--all", "--dry-run"),
}
"""Arguments of every command, once for each kind of object that it prints."""
TESTED_ELSEWHERE = {
    "prefect setup": "../prefect/test_server_commands.py",
    "prefect doctor": "../prefect/test_server_commands.py",
    "runs show": "test_runs.py",
    "show": "test_show.py",
    "timeline": "test_history.py",
    "resume": "test_sessions.py",
    "entity": "test_history.py",
    "entity duplicates": "test_entity.py",
    "entity merge": "test_entity.py",
    "entity split": "test_entity.py",
    "file": "test_history.py",
    "fix": "test_history.py",
    "why": "test_why.py",
    "serve": "test_serve.py",
    "review": "test_review.py",
    "undo": "test_undo.py",
    "redo": "test_redo.py",
    "verify": "test_verify.py",
    "forget": "forgetting.py",
    "import": "test_export.py",
    "migrate compare": "test_migrate_compare.py",
    "templates compare": "test_templates_compare.py",
    "evaluate": "test_evaluate.py",
    "migrate run": "test_migrate_run.py",
    "migrate cutover": "test_migrate_cutover.py",
    "migrate rollback": "test_migrate_cutover.py",
    "migrate finish": "test_migrate_cutover.py",
}
"""Commands whose output needs a graph with content: the files that validate it."""


@pytest.fixture(scope="module")
def pending(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with turns that are not ingested; it is only copied."""
    folder = tmp_path_factory.mktemp("pending")
    write_session(folder / "a.jsonl", 2)
    write_archive(folder / "b.jsonl", conversation("thanks", "and the shop?", at=SESSION_START))
    assert run_in_process("parse", "a.jsonl", "b.jsonl", folder=folder).exit_code == 0
    assert run_in_process("filter", folder=folder).exit_code == 0
    return folder


@pytest.fixture(scope="module")
def ingested(pending: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the same folder with one turn of each group ingested; it is only copied."""
    folder = shutil.copytree(pending, tmp_path_factory.mktemp("ingested"), dirs_exist_ok=True)
    with serving() as provider:
        environment = model_environment(provider)
        done = run_in_process("ingest", "--limit", "1", folder=folder, **environment)
    assert done.exit_code == 0, done.stderr
    return folder


@pytest.mark.full
def test_the_real_output_of_every_command_is_valid(
    subtests: pytest.Subtests, provider: FakeProvider, pending: Path, ingested: Path, tmp_path: Path
) -> None:
    environment = model_environment(provider)
    for number, (name, arguments) in enumerate(ARGUMENTS.items()):
        with subtests.test(name=name):
            filled = pending if name in ("ingest", "ingest --dry-run") else ingested
            folder = shutil.copytree(filled, tmp_path / str(number))
            result = run_in_process(*arguments, "--json", folder=folder, **environment)
            assert result.exit_code == 0, result.stderr
            assert "error" not in result.json or result.json["error"] is None


def test_the_output_of_every_command_is_tested() -> None:
    here = {name.partition(" --")[0] for name in ARGUMENTS}
    assert here | TESTED_ELSEWHERE.keys() == set(OUTPUTS)
    for name, file in TESTED_ELSEWHERE.items():
        text = (Path(__file__).parent / file).read_text(encoding="utf-8")
        assert ", ".join(f'"{word}"' for word in name.split()) in text
        assert ".json" in text


def schema_of(command: str, folder: Path) -> dict[str, Any]:
    result = run_in_process("schema", *command.split(), folder=folder)
    assert result.exit_code == 0
    schema: dict[str, Any] = json.loads(result.stdout)
    return schema


def test_the_commands_with_a_schema_are_listed(tmp_path: Path) -> None:
    listed = run_in_process("schema", "--json", folder=tmp_path).json["commands"]
    assert listed == list(OUTPUTS)
    assert run_in_process("schema", folder=tmp_path).stdout.splitlines() == listed


@pytest.mark.full
def test_every_schema_is_valid_and_describes_every_key(
    subtests: pytest.Subtests, tmp_path: Path
) -> None:
    for command, (result, *_) in OUTPUTS.items():
        with subtests.test(command=command):
            schema = schema_of(command, tmp_path)
            Draft202012Validator.check_schema(schema)
            assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
            objects = [part for part in schema["$defs"].values() if "properties" in part]
            assert {part["title"] for part in objects} >= {
                "ErrorOutput",
                encoded_type(result).__name__,
            }
            assert [part["title"] for part in objects if not is_complete(part)] == []


def is_complete(part: dict[str, Any]) -> bool:
    """Return whether an object has a description, as all its keys have, and no other keys."""
    described = [part, *part["properties"].values()]
    return (
        all(one["description"] for one in described)
        and part["additionalProperties"] is False
        and set(part["required"]) == set(part["properties"])
    )


def test_a_usage_error_of_every_command_is_valid_and_an_undeclared_key_is_not(
    subtests: pytest.Subtests, tmp_path: Path
) -> None:
    for command in OUTPUTS.keys() - {"schema"}:
        with subtests.test(command=command):
            result = run_in_process(*command.split(), "--nonsense", "--json", folder=tmp_path)
            error = result.messages[0].removeprefix("turnetl: ")
            assert (result.exit_code, result.json) == (2, {"error": error, "exit_code": 2})
            with pytest.raises(ValidationError):
                Draft202012Validator(json_schema(command)).validate(result.json | {"undeclared": 1})


def test_an_unknown_command_is_rejected_with_the_known_ones(tmp_path: Path) -> None:
    result = run_in_process("schema", "nonsense", folder=tmp_path)
    assert result.exit_code == 2
    assert "`nonsense`" in result.messages[0]
    assert "journal stats" in result.messages[0]


def test_an_object_is_one_line_of_json() -> None:
    assert encoded(ErrorOutput(error="ä\n", exit_code=1)) == '{"error":"ä\\n","exit_code":1}'
