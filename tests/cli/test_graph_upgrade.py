"""`turnetl graph upgrade` says what it carried over, and where the old file is."""

from pathlib import Path

from tests.cli.command import CommandResult, run_in_process
from tests.graph.older_files import extract


def turnetl(folder: Path, url: str, *words: str) -> CommandResult:
    return run_in_process(*words, "--graph", url, "--lake", str(folder / "lake"), folder=folder)


def test_an_upgrade_prints_the_rows_and_where_the_old_file_is(tmp_path: Path) -> None:
    path = extract("0.21.2", "closed", tmp_path)
    url = f"ladybug://{path}"
    first = turnetl(tmp_path, url, "graph", "upgrade")
    assert first.exit_code == 0
    assert "carried over from storage version 47 to 49" in first.stdout
    assert f"the old file stays as `{path}.storage47`" in first.stdout.replace("\n", "")
    second = turnetl(tmp_path, url, "graph", "upgrade", "--json")
    assert second.json["previous_version"] is None
    assert second.json["kept"] is None


def test_a_graph_that_cannot_be_read_names_the_command_in_every_command(tmp_path: Path) -> None:
    path = extract("0.17.1", "killed", tmp_path)
    for words in (("status",), ("graph", "upgrade")):
        refused = turnetl(tmp_path, f"ladybug://{path}", *words)
        assert refused.exit_code == 1
        assert "turnetl graph upgrade --with old-ladybug" in refused.stderr


def test_a_graph_on_a_server_is_not_upgraded(tmp_path: Path) -> None:
    refused = turnetl(tmp_path, "bolt://127.0.0.1:7687", "graph", "upgrade")
    assert refused.exit_code == 2
    assert "which upgrades its own files" in refused.stderr
