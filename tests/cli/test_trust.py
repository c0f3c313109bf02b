"""`turnetl trust`: which folders are trusted, until when, and what it says of them."""

import pytest

from tests.cli.command import turnetl_process
from tests.cli.planted_folder import PlantedFolder, listed, model_of, nested, received
from tests.servers.provider import FakeProvider


def test_the_sentence_is_printed_once_as_json_too(planted: PlantedFolder) -> None:
    planted.write_config(prefetch=1)
    planted.write_template("Extract nothing.")
    result = planted.run("status", "--json")
    assert result.exit_code == 0
    [message] = result.messages
    assert "`.graphiti/templates/default-session-turn.md`, `graphiti.config.json`" in message
    assert planted.run("status").messages == [message]


@pytest.mark.full
def test_a_trusted_folder_is_used_until_it_changes_and_the_message_says_what_changed(
    planted: PlantedFolder, provider: FakeProvider, key: str
) -> None:
    planted.write_config(llm=model_of(provider))
    trusted = planted.run("trust")
    assert trusted.exit_code == 0
    assert f"llm.base_url = {provider.url}/v1" in trusted.stdout
    done = planted.backfill(TURNETL_LLM__API_KEY=key)
    assert done.exit_code == 0
    assert "ignored" not in done.stderr
    assert f"Bearer {key}" in received(provider)
    provider.requests.clear()
    planted.write_config(llm=model_of(provider) | {"effort": "high"})
    changed = planted.run("status", TURNETL_LLM__API_KEY=key, TURNETL_EXTRACTOR="structural")
    message, stale = changed.messages
    assert "`turnetl redo --stale" in stale
    assert "since `turnetl trust`, `graphiti.config.json` changed" in message
    assert message.endswith("run `turnetl trust` again")
    assert planted.run("model", "check", TURNETL_LLM__API_KEY=key).exit_code == 2
    assert provider.requests == []
    assert planted.run("trust").exit_code == 0
    assert planted.run("model", "check", TURNETL_LLM__API_KEY=key).exit_code == 0
    assert key in received(provider)


def test_a_revoked_folder_is_not_used(planted: PlantedFolder, provider: FakeProvider) -> None:
    planted.write_config(llm=model_of(provider))
    planted.run("trust")
    assert [entry["state"] for entry in listed(planted)] == ["trusted"]
    revoked = planted.run("trust", "--revoke", "--json")
    assert [entry["state"] for entry in revoked.json["folders"]] == ["untrusted"]
    assert listed(planted) == []
    assert planted.run("model", "check").exit_code == 2
    assert provider.requests == []
    again = planted.run("trust", "--revoke")
    assert (again.exit_code, len(again.messages)) == (2, 1)


def test_a_folder_that_is_gone_can_be_listed_and_revoked(planted: PlantedFolder) -> None:
    other = planted.path / "other"
    other.mkdir()
    (other / "graphiti.config.json").write_text("{}")
    assert planted.run("trust", other).exit_code == 0
    (other / "graphiti.config.json").unlink()
    other.rmdir()
    [entry] = listed(planted)
    assert (entry["state"], entry["changes"]) == ("changed", ["`graphiti.config.json` was removed"])
    assert planted.run("trust", other, "--revoke").exit_code == 0


@pytest.mark.parametrize("setting", [("noise", "rules"), ("group_map",)])
def test_a_file_that_the_config_file_names_is_trusted_with_it(
    setting: tuple[str, ...], planted: PlantedFolder
) -> None:
    named = planted.path / "named.toml"
    named.write_text("")
    planted.write_config(**nested(setting, "named.toml"))
    planted.run("trust")
    assert "ignored" not in planted.run("status").stderr
    named.write_text("# changed")
    message = planted.run("status").messages[0]
    assert "since `turnetl trust`, `named.toml` changed" in message


@pytest.mark.parametrize("setting", [("noise", "rules"), ("group_map",)])
def test_a_file_in_the_folder_is_trusted_with_it_however_the_config_file_names_it(
    setting: tuple[str, ...], planted: PlantedFolder
) -> None:
    alias = planted.path.with_name("alias")
    alias.symlink_to(planted.path)
    named = planted.path / "named.toml"
    named.write_text("")
    planted.write_config(**nested(setting, str(alias / "named.toml")))
    planted.run("trust")
    named.write_text("# changed")
    message = planted.run("status").messages[0]
    assert "since `turnetl trust`, `named.toml` changed" in message


@pytest.mark.full
def test_the_user_folder_is_trusted_also_as_working_directory(planted: PlantedFolder) -> None:
    template = planted.home / ".graphiti" / "templates" / "own.md"
    template.parent.mkdir(parents=True)
    template.write_text("Look.")
    at_home = turnetl_process("templates", "show", "own.md", folder=planted.home)
    assert (at_home.stdout, at_home.messages) == ("Look.\n", [])


def test_a_folder_without_configuration_and_an_invalid_one_are_not_trusted(
    planted: PlantedFolder,
) -> None:
    nothing = planted.run("trust")
    assert (nothing.exit_code, len(nothing.messages)) == (2, 1)
    assert "nothing to trust" in nothing.messages[0]
    planted.write_config(lake=7)
    assert planted.run("trust").exit_code == 2
    planted.config.write_text("{")
    assert planted.run("trust").exit_code == 2
    assert planted.run("trust", "nowhere").exit_code == 2
    assert planted.run("trust", "--list", "--revoke").exit_code == 2
    assert listed(planted) == []
    assert planted.run("status").exit_code == 0


def test_names_of_files_reach_the_terminal_without_control_characters(
    planted: PlantedFolder,
) -> None:
    planted.write_template("Look.")
    planted.template.rename(planted.template.with_name("a\x1b]0;b\u202e\nc.md"))
    output = planted.run("status").stderr + planted.run("trust").stdout
    assert "a\\x1b]0;b\\u202e\\nc.md" in output
    assert not {"\x1b", "\u202e"} & set(output)
