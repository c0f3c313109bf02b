"""The JSON Schema of the output of every command."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import run_in_process
from tests.goldens.commands import schema_file
from tests.goldens.golden_files import GoldenFiles
from tests.goldens.plain import Json, written
from turnetl.json_output.schemas import OUTPUTS


@pytest.mark.parametrize("command", OUTPUTS)
def test_the_schema_is_the_golden(command: str, golden: GoldenFiles, tmp_path: Path) -> None:
    result = run_in_process("schema", *command.split(), folder=tmp_path)
    assert result.exit_code == 0, result.stderr
    golden.check(schema_file(command), written(_unordered(json.loads(result.stdout))))


def _unordered(value: Any) -> Json:
    """Return the schema with its lists of required keys sorted: their order says nothing."""
    match value:
        case {"required": [*keys]}:
            rest = {key: _unordered(one) for key, one in value.items() if key != "required"}
            return {**rest, "required": sorted(keys)}
        case dict():
            return {key: _unordered(one) for key, one in value.items()}
        case list():
            return [_unordered(one) for one in value]
        case _:
            scalar: Json = value
            return scalar
