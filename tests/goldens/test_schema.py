"""The JSON Schema of the output of every command."""

from pathlib import Path

import pytest

from tests.cli.command import run_in_process
from tests.goldens.commands import schema_file
from tests.goldens.golden_files import GoldenFiles
from turnetl.json_output.schemas import OUTPUTS


@pytest.mark.parametrize("command", OUTPUTS)
def test_the_schema_is_the_golden(command: str, golden: GoldenFiles, tmp_path: Path) -> None:
    result = run_in_process("schema", *command.split(), folder=tmp_path)
    assert result.exit_code == 0, result.stderr
    golden.check(schema_file(command), result.stdout)
