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


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("export", "--format", "jsonl", "--output", ""), "--output"),
        (("import", "", "--machine", "laptop"), "LAKE"),
        (("report", "--output", ""), "--output"),
        (("evaluate", "--save", ""), "--save"),
        (("trust", ""), "FOLDER"),
    ],
)
def test_an_empty_path_is_not_the_working_directory(
    arguments: tuple[str, ...], name: str, tmp_path: Path
) -> None:
    result = run_in_process(*arguments, folder=tmp_path)
    assert result.exit_code == 2
    assert result.messages[0].startswith(f"turnetl: `{name}` takes a path, not ``")
    assert list(tmp_path.iterdir()) == []


def test_an_empty_name_of_a_lake_is_an_error(tmp_path: Path) -> None:
    result = run_in_process("status", "--lake", "", folder=tmp_path)
    assert result.exit_code == 2
    assert result.messages == ["turnetl: setting `lake`: must not be empty"]
