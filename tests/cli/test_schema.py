"""`turnetl schema`: the JSON Schemas against which the other tests validate all real output."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from tests.cli.command import run_in_process
from turnetl.output.base import ErrorOutput
from turnetl.output.schemas import OUTPUTS, json_schema


def schema_of(command: str, folder: Path) -> dict[str, Any]:
    result = run_in_process("schema", *command.split(), folder=folder)
    assert result.exit_code == 0
    schema: dict[str, Any] = json.loads(result.stdout)
    return schema


def test_the_commands_with_a_schema_are_listed(tmp_path: Path) -> None:
    listed = run_in_process("schema", "--json", folder=tmp_path).json["commands"]
    assert listed == list(OUTPUTS)
    assert run_in_process("schema", folder=tmp_path).stdout.splitlines() == listed


@pytest.mark.parametrize("command", OUTPUTS)
def test_every_schema_is_valid_and_describes_every_key(command: str, tmp_path: Path) -> None:
    schema = schema_of(command, tmp_path)
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    objects = [part for part in schema["$defs"].values() if "properties" in part]
    assert {part["title"] for part in objects} >= {"ErrorOutput", OUTPUTS[command][0].__name__}
    for part in objects:
        assert part["description"]
        assert part["additionalProperties"] is False
        assert set(part["required"]) == set(part["properties"])
        assert [key for key, value in part["properties"].items() if not value["description"]] == []


@pytest.mark.parametrize("command", OUTPUTS)
def test_an_undeclared_key_is_invalid(command: str) -> None:
    values = {"error": "an error", "exit_code": 1}
    validator = Draft202012Validator(json_schema(command))
    validator.validate(values)
    with pytest.raises(ValidationError):
        validator.validate({**values, "undeclared": 1})


@pytest.mark.parametrize("command", [name for name in OUTPUTS if name != "schema"])
def test_a_usage_error_of_every_command_is_a_valid_error_object(
    command: str, tmp_path: Path
) -> None:
    result = run_in_process(*command.split(), "--nonsense", "--json", folder=tmp_path)
    assert result.exit_code == 2
    assert result.json == {"error": result.messages[0].removeprefix("turnetl: "), "exit_code": 2}


def test_an_unknown_command_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    result = run_in_process("schema", "nonsense", folder=tmp_path)
    assert result.exit_code == 2
    assert "`nonsense`" in result.messages[0]
    assert "journal stats" in result.messages[0]


def test_an_object_is_one_line_of_json() -> None:
    assert ErrorOutput(error="ä\n", exit_code=1).encode() == '{"error":"ä\\n","exit_code":1}'
