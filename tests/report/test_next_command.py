from pathlib import Path

import pytest

from turnetl.report.next_command import search

HERE = Path("/home/dev/shop")


def test_a_program_in_a_folder_below_is_named_as_it_can_be_typed() -> None:
    assert search(HERE / ".venv/bin/turnetl", HERE, {}) == ".venv/bin/turnetl search"


def test_options_that_were_given_are_given_again_and_quoted() -> None:
    given: dict[str, Path | str | None] = {
        "--lake": Path("my lake"),
        "--graph": None,
        "--config": Path("c.json"),
    }
    words = search(Path("/opt/turnetl"), HERE, given)
    assert words == "/opt/turnetl search --lake 'my lake' --config c.json"


@pytest.mark.parametrize("login", ["neo4j:pw", "neo4j:p@ss", "neo4j:pa:ss", "neo4j:p/w", "a:"])
def test_a_password_is_never_shown(login: str) -> None:
    words = search(HERE / "turnetl", HERE, {"--graph": f"bolt://{login}@localhost:7687"})
    assert words == "turnetl search --graph bolt://localhost:7687"


def test_the_path_of_an_embedded_graph_stands_as_it_is() -> None:
    words = search(HERE / "turnetl", HERE, {"--graph": "ladybug:///home/a@b/graph.lbug"})
    assert words.endswith("--graph ladybug:///home/a@b/graph.lbug")
