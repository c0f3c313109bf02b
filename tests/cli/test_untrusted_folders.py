"""The author of the working directory decides nothing, unless the user trusts its configuration."""

import os
import socket

import pytest

from tests.cli.planted_folder import PlantedFolder, model_of, nested, received
from tests.servers.provider import FakeProvider


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


@pytest.mark.parametrize(
    ("file", "arguments", "environment"),
    [
        ("templates/mine.md", ("templates", "show", "mine.md"), {}),
        ("templates/mine.md", ("backfill", "--preprocessing", "mine.md"), {}),
        ("templates/mine.md", ("templates", "compare", "mine.md", "none"), {}),
        ("templates/ontology/mine.toml", ("backfill",), {"EXTRACTION__ONTOLOGY": "mine.toml"}),
        ("prices.toml", ("backfill",), {"BUDGET__USD": "5"}),
    ],
    ids=["show", "run", "compare", "ontology", "prices"],
)
def test_a_file_that_is_missing_because_it_is_not_trusted_is_named_with_what_to_do(
    file: str,
    arguments: tuple[str, ...],
    environment: dict[str, str],
    planted: PlantedFolder,
    provider: FakeProvider,
) -> None:
    path = planted.path / ".graphiti" / file
    path.parent.mkdir(parents=True)
    path.write_text("")
    model = {f"TURNETL_LLM__{name.upper()}": text for name, text in model_of(provider).items()}
    given = {f"TURNETL_{name}": text for name, text in environment.items()}
    archives = [planted.home / "a.jsonl"] if arguments[0] == "backfill" else []
    message = planted.run(*arguments, *archives, **model, **given).messages[-1]
    assert f"ignored `.graphiti/{file}` of `{planted.path}`, which is not trusted" in message
    assert "`turnetl trust`" in message
    assert " in `" not in message


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


@pytest.mark.full
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


def test_a_path_that_leads_nowhere_stops_no_command_in_an_untrusted_folder(
    subtests: pytest.Subtests, planted: PlantedFolder
) -> None:
    (planted.path / "loop").symlink_to("loop")
    for setting in (("noise", "rules"), ("group_map",), ("lake",)):
        for path in ("~nobody-has-this-name/x", "a" * 5_000, "a\0b", "loop/x"):
            with subtests.test(setting=setting, path=path[:9]):
                planted.write_config(**nested(setting, path))
                result = planted.run("status")
                assert result.exit_code == 0
                assert "which is not trusted" in result.messages[0]
                # `run` asserts that there is no unexpected error.
                planted.run("status", "--config", "graphiti.config.json")


def _embedder(provider: FakeProvider) -> dict[str, str]:
    return {
        "provider": "openai-compatible",
        "base_url": f"{provider.url}/v1",
        "model": "toy",
        "api_key": "planted",
    }
