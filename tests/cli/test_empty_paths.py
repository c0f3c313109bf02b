"""An empty path, such as that of a variable that is not set, is an error in every command."""

from pathlib import Path

import pytest

from tests.cli.command import run_in_process
from tests.docs.test_reference import COMMANDS
from turnetl.cli.options import to_path


def test_every_option_and_argument_that_is_a_path_is_converted_by_one_function(
    subtests: pytest.Subtests,
) -> None:
    for name in COMMANDS:
        with subtests.test(name=name):
            arguments = COMMANDS[name].assemble_argument_collection()
            paths = [one for one in arguments if one.hint in (Path, Path | None)]
            assert [one.name for one in paths if one.parameter.converter is not to_path] == []


def test_an_empty_path_is_not_the_working_directory(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    for arguments, message in (
        (("export", "--format", "jsonl", "--output", ""), "`--output` takes a path, not ``"),
        (("import", "", "--machine", "laptop"), "`LAKE` takes a path, not ``"),
        (("report", "--output", ""), "`--output` takes a path, not ``"),
        (("evaluate", "--save", ""), "`--save` takes a path, not ``"),
        (("trust", ""), "`FOLDER` takes a path, not ``"),
        (("status", "--lake", ""), "setting `lake`: must not be empty"),
    ):
        with subtests.test(arguments=arguments):
            result = run_in_process(*arguments, folder=tmp_path)
            assert result.exit_code == 2
            assert result.messages[0].startswith(f"turnetl: {message}")
            assert list(tmp_path.iterdir()) == []
