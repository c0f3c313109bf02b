"""`turnetl templates`, and ontologies of your own."""

from pathlib import Path

import pytest

from tests.cli.command import run_in_process, write_config
from tests.cli.provider_setup import model_environment, write_session
from tests.servers.provider import FakeProvider


def test_templates_are_listed_with_the_file_that_is_used(tmp_path: Path) -> None:
    template = tmp_path / ".graphiti" / "templates" / "default-session-turn.md"
    template.parent.mkdir(parents=True)
    template.write_text("Look for each Decision.")
    home = str(tmp_path / "home")
    assert run_in_process("trust", folder=tmp_path, HOME=home).exit_code == 0
    entries = run_in_process("templates", "list", "--json", folder=tmp_path, HOME=home).json[
        "templates"
    ]
    (used,) = (entry for entry in entries if entry["name"] == template.name)
    assert (used["path"], used["source"], used["used_for"]) == (
        str(template),
        "project",
        ["all turns"],
    )
    assert [Path(path).name for path in used["overrides"]] == [template.name]
    assert (
        run_in_process("templates", "show", template.name, folder=tmp_path).stdout
        == "Look for each Decision.\n"
    )


def test_a_copy_of_a_template_is_used_in_its_place_and_never_overwritten(tmp_path: Path) -> None:
    for name in ("default-session-turn.md", "ontology/coding.toml"):
        command = ("templates", "copy", name, "--json")
        (entry,) = run_in_process(*command, folder=tmp_path).json["templates"]
        copy = tmp_path / ".graphiti" / "templates" / name
        assert (entry["path"], entry["source"]) == (str(copy), "home")
        assert copy.read_bytes() == Path(entry["overrides"][0]).read_bytes()
        copy.write_text("Mine.")
        again = run_in_process(*command, folder=tmp_path)
        assert (again.exit_code, copy.read_text()) == (2, "Mine.")
        assert f"`{copy}` exists: edit it" in again.messages[0]
    beside = ("templates", "copy", "error-heavy-turn.md", "--output", "mine.md")
    assert run_in_process(*beside, folder=tmp_path).stdout.startswith("mine.md\n")
    assert (tmp_path / "mine.md").is_file()


def test_only_an_invalid_template_fails_the_check(tmp_path: Path) -> None:
    assert run_in_process("templates", "check", folder=tmp_path).exit_code == 0
    broken = tmp_path / ".graphiti" / "templates" / "broken.md"
    broken.parent.mkdir(parents=True)
    broken.write_text("---\nname: broken\nLook.")
    result = run_in_process("templates", "check", folder=tmp_path)
    assert result.exit_code == 1
    assert "broken.md" in result.stdout
    assert (
        run_in_process("templates", "check", "default-session-turn.md", folder=tmp_path).exit_code
        == 0
    )
    assert run_in_process("templates", "check", "broken.md", folder=tmp_path).exit_code == 1


@pytest.mark.parametrize("command", ["show", "check"])
def test_an_unknown_template_is_rejected_with_the_known_ones(command: str, tmp_path: Path) -> None:
    result = run_in_process("templates", command, "nope.md", folder=tmp_path)
    assert (result.exit_code, len(result.messages)) == (2, 1)
    assert "default-session-turn.md" in result.stderr


@pytest.mark.full
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
    write_config(tmp_path, extraction={"ontology": "garden.toml"})
    status = run_in_process("status", "--json", folder=tmp_path, **model_environment(provider)).json
    assert status["groups"][0]["stale_reasons"] == {"recipe_changed": 1}
    provider.requests = []
    elsewhere = f"ladybug://{tmp_path / 'other.lbug'}"
    run_in_process("ingest", "--graph", elsewhere, folder=tmp_path, **model_environment(provider))
    texts = [text for request in provider.requests for _, text in request.messages]
    assert any("What grows in a bed." in text for text in texts)
