"""The author of the working directory decides nothing, unless the user trusts its configuration."""

import json
import os
import secrets
import socket
import subprocess
import sys
from pathlib import Path
from stat import S_IMODE

import pytest

from tests.cli.command import ROOT, clean_environment, turnetl_process
from tests.cli.planted_folder import PlantedFolder, model_of, plant
from tests.servers.provider import FakeProvider


def nested(setting: tuple[str, ...], value: object) -> dict[str, object]:
    """Return the section of a config file with a setting, which may be in a section of its own."""
    *sections, name = setting
    content: dict[str, object] = {name: value}
    for section in reversed(sections):
        content = {section: content}
    return content


@pytest.fixture
def planted(tmp_path: Path) -> PlantedFolder:
    return plant(tmp_path)


@pytest.fixture
def key() -> str:
    return f"key-{secrets.token_hex(16)}"


def received(provider: FakeProvider) -> str:
    """Return everything that the server received."""
    return "\n".join(
        json.dumps([request.path, dict(request.headers), request.body])
        for request in provider.requests
    )


def test_a_folder_that_is_not_trusted_gets_no_request_and_no_key(
    planted: PlantedFolder, provider: FakeProvider, key: str
) -> None:
    planted.write_config(llm=model_of(provider), embedder=_embedder(provider))
    result = planted.backfill(TURNETL_LLM__API_KEY=key, TURNETL_EXTRACTOR="structural")
    assert (result.exit_code, provider.requests) == (0, [])
    [message] = result.messages
    assert "ignored `graphiti.config.json`" in message
    assert "`turnetl trust`" in message
    assert key not in result.stdout + result.stderr


def test_the_sentence_is_printed_once_as_json_too(planted: PlantedFolder) -> None:
    planted.write_config(prefetch=1)
    planted.write_template("Extract nothing.")
    result = planted.run("status", "--json")
    assert result.exit_code == 0
    [message] = result.messages
    assert "`.graphiti/templates/default-session-turn.md`, `graphiti.config.json`" in message
    assert planted.run("status").messages == [message]


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
    [message] = changed.messages
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
    assert [entry["state"] for entry in _listed(planted)] == ["trusted"]
    revoked = planted.run("trust", "--revoke", "--json")
    assert [entry["state"] for entry in revoked.json["folders"]] == ["untrusted"]
    assert _listed(planted) == []
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
    [entry] = _listed(planted)
    assert (entry["state"], entry["changes"]) == ("changed", ["`graphiti.config.json` was removed"])
    assert planted.run("trust", other, "--revoke").exit_code == 0


def test_a_key_is_not_sent_to_another_endpoint_than_an_untrusted_folder_names_for_it(
    planted: PlantedFolder, provider: FakeProvider, key: str
) -> None:
    """The key may belong to the folder's endpoint: without it, the provider's own would get it."""
    planted.write_config(llm={"base_url": f"{provider.url}/v1"})
    model = {"TURNETL_LLM__PROVIDER": "openai", "TURNETL_LLM__MODEL": "canned"}
    refused = planted.backfill(TURNETL_LLM__API_KEY=key, **model)
    assert refused.exit_code == 2
    assert "`llm.api_key` (from `TURNETL_LLM__API_KEY`) is sent nowhere" in refused.messages[-1]
    assert "`turnetl trust`" in refused.messages[-1]
    own = {"TURNETL_LLM__BASE_URL": f"{provider.url}/v1"}
    planted.write_config(llm={"base_url": "http://127.0.0.1:1/v1"})
    assert planted.run("model", "check", TURNETL_LLM__API_KEY=key, **model, **own).exit_code == 0
    assert key in received(provider)


def test_an_untrusted_folder_redirects_neither_graph_nor_lake(
    planted: PlantedFolder, key: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as graph:
        graph.settimeout(0.01)
        url = f"bolt://127.0.0.1:{graph.getsockname()[1]}"
        planted.write_config(graph=url, lake=str(planted.path / "lake"))
        result = planted.backfill(NEO4J_PASSWORD=key)
        with pytest.raises(TimeoutError):
            graph.accept()
    assert result.exit_code == 0
    assert not (planted.path / "lake").exists()
    assert (planted.home / ".turnetl" / "lake" / "graph.lbug").exists()


def test_a_template_of_an_untrusted_folder_does_not_reach_the_model(
    planted: PlantedFolder, provider: FakeProvider
) -> None:
    planted.write_template("Look for the planted words.")
    model = {f"TURNETL_LLM__{name.upper()}": text for name, text in model_of(provider).items()}
    planted.run("model", "check", **model)
    assert provider.requests
    assert "planted words" not in received(provider)
    planted.run("trust")
    planted.run("model", "check", **model)
    assert "planted words" in received(provider)


@pytest.mark.parametrize("linked", ["file", "folder", "config"])
def test_a_file_elsewhere_never_reaches_the_model_through_a_link(
    linked: str, planted: PlantedFolder, provider: FakeProvider, key: str
) -> None:
    private = planted.home / "private"
    private.mkdir()
    (private / planted.template.name).write_text(f"my key is {key}")
    (private / "graphiti.config.json").write_text("{}")
    planted.template.parent.parent.mkdir()
    if linked == "file":
        planted.template.parent.mkdir()
        planted.template.symlink_to(private / planted.template.name)
    elif linked == "folder":
        planted.template.parent.symlink_to(private)
    else:
        planted.config.symlink_to(private / "graphiti.config.json")
    refused = planted.run("trust")
    assert refused.exit_code == 2
    assert "symbolic link" in refused.messages[0]
    model = {f"TURNETL_LLM__{name.upper()}": text for name, text in model_of(provider).items()}
    result = planted.run("model", "check", **model)
    assert provider.requests
    assert key not in received(provider) + result.stdout + result.stderr


def test_a_link_that_is_planted_in_a_trusted_folder_makes_it_untrusted(
    planted: PlantedFolder, provider: FakeProvider, key: str
) -> None:
    planted.write_template("Look for the planted words.")
    planted.run("trust")
    (planted.home / "private").write_text(f"my key is {key}")
    planted.template.with_name("other.md").symlink_to(planted.home / "private")
    os.mkfifo(planted.template.with_name("pipe.md"))
    model = {f"TURNETL_LLM__{name.upper()}": text for name, text in model_of(provider).items()}
    result = planted.run("model", "check", **model)
    assert "`.graphiti/templates/other.md` is a symbolic link" in result.messages[0]
    assert "`.graphiti/templates/pipe.md` is not a file" in result.messages[0]
    assert "planted words" not in received(provider)
    assert key not in received(provider)


def test_prices_of_an_untrusted_folder_do_not_count(
    planted: PlantedFolder, provider: FakeProvider
) -> None:
    """A price of nothing would lift a limit in dollars."""
    (planted.path / ".graphiti").mkdir()
    (planted.path / ".graphiti" / "prices.toml").write_text('"*" = { input = 0, output = 0 }')
    model = {f"TURNETL_LLM__{name.upper()}": text for name, text in model_of(provider).items()}
    refused = planted.backfill(TURNETL_BUDGET__USD="5", **model)
    assert (refused.exit_code, provider.requests) == (2, [])
    planted.run("trust")
    assert planted.backfill(TURNETL_BUDGET__USD="5", **model).exit_code == 0


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


@pytest.mark.parametrize("setting", [("noise", "rules"), ("group_map",), ("lake",)])
@pytest.mark.parametrize("path", ["~nobody-has-this-name/x", "a" * 5_000, "a\0b", "loop/x"])
def test_a_path_that_leads_nowhere_stops_no_command_in_an_untrusted_folder(
    setting: tuple[str, ...], path: str, planted: PlantedFolder
) -> None:
    (planted.path / "loop").symlink_to("loop")
    planted.write_config(**nested(setting, path))
    result = planted.run("status")
    assert result.exit_code == 0
    assert "which is not trusted" in result.messages[0]
    chosen = planted.run("status", "--config", "graphiti.config.json")
    assert "unexpected error" not in chosen.stderr


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
    assert _listed(planted) == []
    assert planted.run("status").exit_code == 0


def test_names_of_files_reach_the_terminal_without_control_characters(
    planted: PlantedFolder,
) -> None:
    planted.write_template("Look.")
    planted.template.rename(planted.template.with_name("a\x1b]0;b\u202e\nc.md"))
    output = planted.run("status").stderr + planted.run("trust").stdout
    assert "a\\x1b]0;b\\u202e\\nc.md" in output
    assert not {"\x1b", "\u202e"} & set(output)


def test_two_processes_that_trust_at_the_same_time_lose_nothing(planted: PlantedFolder) -> None:
    folders = [planted.path / str(number) for number in range(6)]
    for folder in folders:
        folder.mkdir()
        (folder / "graphiti.config.json").write_text("{}")
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", TRUST, *map(str, folders[number::2])],
            env=clean_environment(planted.home),
            cwd=ROOT,
        )
        for number in range(2)
    ]
    assert [process.wait(120) for process in processes] == [0, 0]
    assert [entry["folder"] for entry in _listed(planted)] == [str(folder) for folder in folders]


TRUST = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from turnetl.settings import revoke_trust, trust_folder, trust_store

for folder in sys.argv[1:]:
    for _ in range(20):
        trust_folder(trust_store(), Path(folder), home=Path.home(), now=datetime.now(UTC))
        revoke_trust(trust_store(), Path(folder), home=Path.home())
    trust_folder(trust_store(), Path(folder), home=Path.home(), now=datetime.now(UTC))
"""


@pytest.mark.parametrize("damage", ["link", "writable", "text", "version", "lock"])
def test_a_trust_store_that_others_may_have_made_trusts_nothing(
    damage: str, planted: PlantedFolder, provider: FakeProvider
) -> None:
    planted.write_config(llm=model_of(provider))
    planted.run("trust")
    store = planted.home / ".local" / "state" / "turnetl" / "trust.json"
    assert S_IMODE(store.stat().st_mode) == 0o600
    aside = planted.home / "aside"
    if damage == "link":
        store.rename(aside)
        store.symlink_to(aside)
    elif damage == "writable":
        store.chmod(0o622)
    elif damage == "text":
        store.write_text('{"version": 1, "folders": ')
    elif damage == "version":
        store.write_text(store.read_text().replace('"version": 1', '"version": 2'))
    else:
        lock = store.with_name("trust.lock")
        lock.unlink()
        lock.symlink_to(aside)
    if damage != "lock":
        result = planted.run("model", "check")
        assert (result.exit_code, provider.requests) == (2, [])
        assert f"the trust store `{store}`" in result.messages[0]
    changed = planted.run("trust")
    assert (changed.exit_code, len(changed.messages)) == (1, 1)
    assert damage == "link" or not aside.exists()


def test_every_setting_is_shown_with_its_source_and_without_secrets(
    planted: PlantedFolder, key: str
) -> None:
    planted.write_config(
        llm={"base_url": f"https://user:{key}@gate.example/v1?token={key}", "api_key": key},
        graph=f"bolt://neo4j:{key}@graph.example:7687",
        embedder={"base_url": f"https://{key}@vectors.example/v1"},
        noise={"disable": ["repeat"]},
    )
    planted.run("trust")
    environment = {"TURNETL_PREFETCH": "3", "NEO4J_PASSWORD": key, "TURNETL_LLM__MODELS": "small=m"}
    arguments = ("config", "show", "--lake", planted.path / "lake")
    result = planted.run(*arguments, "--json", **environment)
    settings = {setting.pop("name"): setting for setting in result.json["settings"]}
    folder = {"source": "folder", "origin": str(planted.config)}
    mask = "********"
    assert settings["lake"] == {
        "value": str(planted.path / "lake"),
        "source": "option",
        "origin": None,
    }
    assert settings["prefetch"] == _of_variable(3, "TURNETL_PREFETCH")
    assert settings["graph_password"] == _of_variable(mask, "NEO4J_PASSWORD")
    assert settings["llm.models.small"] == _of_variable("m", "TURNETL_LLM__MODELS")
    assert settings["llm.api_key"] == {"value": mask, **folder}
    url = f"https://user:{mask}@gate.example/v1?token={mask}"
    assert settings["llm.base_url"] == {"value": url, **folder}
    assert settings["embedder.base_url"] == {
        "value": f"https://{mask}@vectors.example/v1",
        **folder,
    }
    assert settings["graph"] == {"value": f"bolt://neo4j:{mask}@graph.example:7687", **folder}
    assert settings["noise.disable"] == {"value": ["repeat"], **folder}
    assert settings["jobs"] == {"value": None, "source": "default", "origin": None}
    assert result.json["ignored"] is None
    table = planted.run(*arguments, **environment)
    assert (table.exit_code, result.exit_code) == (0, 0)
    assert key not in table.stdout + result.stdout
    planted.write_config(prefetch=7)
    ignored = planted.run("config", "show", "--json").json
    assert "`turnetl trust`" in ignored["ignored"]
    planted.run("trust", "--revoke")
    user = planted.home / ".graphiti" / "graphiti.config.json"
    user.parent.mkdir()
    user.write_text('{"turnetl": {"prefetch": 5}}')
    shown = planted.run("config", "show", "--json").json["settings"]
    assert {"name": "prefetch", "value": 5, "source": "user", "origin": str(user)} in shown


def _of_variable(value: object, name: str) -> dict[str, object]:
    return {"value": value, "source": "environment", "origin": name}


def _listed(planted: PlantedFolder) -> list[dict[str, object]]:
    folders: list[dict[str, object]] = planted.run("trust", "--list", "--json").json["folders"]
    return folders


def _embedder(provider: FakeProvider) -> dict[str, str]:
    return {
        "provider": "openai-compatible",
        "base_url": f"{provider.url}/v1",
        "model": "toy",
        "api_key": "planted",
    }
