"""The search command that a report proposes."""

from pathlib import Path

import pytest

from turnetl.console.next_command import next_command

DIRECTORY = Path("/home/dev/shop")


def test_a_program_below_the_working_directory_has_a_relative_path() -> None:
    program = DIRECTORY / ".venv/bin/turnetl"
    assert next_command(program, DIRECTORY, ["search"], {}) == ".venv/bin/turnetl search"


def test_options_of_this_run_are_repeated_and_quoted() -> None:
    options: dict[str, Path | str | None] = {
        "--lake": Path("my lake"),
        "--graph": None,
        "--config": Path("c.json"),
    }
    command = next_command(Path("/opt/turnetl"), DIRECTORY, ["search"], options)
    assert command == "/opt/turnetl search --lake 'my lake' --config c.json"


@pytest.mark.parametrize("folder", [DIRECTORY / "turnetl", Path("/opt/lib/turnetl")])
def test_a_package_that_python_runs_is_named_as_it_is_typed(folder: Path) -> None:
    command = next_command(folder / "__main__.py", DIRECTORY, ["search"], {"--lake": Path("l")})
    assert command == "python -m turnetl search --lake l"


@pytest.mark.parametrize("login", ["neo4j:pw", "neo4j:p@ss", "neo4j:pa:ss", "neo4j:p/w", "a:"])
def test_a_password_is_never_printed(login: str) -> None:
    options = {"--graph": f"bolt://{login}@localhost:7687"}
    command = next_command(DIRECTORY / "turnetl", DIRECTORY, ["search"], options)
    assert command == "turnetl search --graph bolt://localhost:7687"


def test_the_path_of_an_embedded_graph_is_kept() -> None:
    options = {"--graph": "ladybug:///home/a@b/graph.lbug"}
    command = next_command(DIRECTORY / "turnetl", DIRECTORY, ["search"], options)
    assert command.endswith("--graph ladybug:///home/a@b/graph.lbug")
