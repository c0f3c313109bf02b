"""Keys and passwords go unencrypted to this machine only, unless the user allows more."""

import json
from pathlib import Path

import pytest
from pydantic import SecretStr

from turnetl import wiring
from turnetl.base.errors import BadUsage
from turnetl.settings import EmbedderSettings, ModelSettings, Settings, read_settings
from turnetl.trust.folder_trust import FolderTrust
from turnetl.trust.project_files import read_project
from turnetl.wiring import ingestion


def model(url: str, **settings: object) -> Settings:
    llm = ModelSettings.model_validate(
        {"provider": "openai-compatible", "model": "m", "base_url": url, "api_key": "k"} | settings
    )
    return Settings(llm=llm)


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:11434/v1",
        "http://127.0.0.2/v1",
        "http://[::1]:8000/v1",
        "https://example.org/v1",
    ],
)
async def test_a_key_goes_to_this_machine_and_over_https(url: str) -> None:
    await wiring.model(model(url)).close()


@pytest.mark.parametrize(
    ("url", "settings"),
    [
        ("http://example.org/v1", {}),
        ("http://192.168.0.7/v1", {}),
        ("http://[2001:db8::1]/v1", {}),
        ("http://localhost.example.org/v1", {}),
        ("http://127.0.0.1@example.org/v1", {"api_key": None}),
        ("http://user:password@example.org/v1", {"api_key": None}),
        ("HTTP://example.org/v1", {}),
        ("http://shop.localhost/v1", {}),
    ],
)
async def test_a_key_does_not_go_to_another_machine_unencrypted(
    url: str, settings: dict[str, object]
) -> None:
    try:
        refused = model(url, **settings)
    except ValueError:
        return  # No URL of the settings begins this way.
    with pytest.raises(BadUsage, match="TURNETL_ALLOW_UNENCRYPTED") as raised:
        wiring.model(refused)
    assert "password" not in str(raised.value)
    allowed = refused.model_copy(update={"allow_unencrypted": True})
    await wiring.model(allowed).close()


async def test_requests_without_a_key_may_go_to_a_machine_of_the_local_network() -> None:
    await wiring.model(model("http://192.168.0.7:11434/v1", api_key=None)).close()


async def test_the_key_of_an_embedder_does_not_go_to_another_machine_unencrypted() -> None:
    embedder = EmbedderSettings.model_validate(
        {
            "provider": "openai-compatible",
            "base_url": "http://example.org/v1",
            "model": "m",
            "api_key": "k",
        }
    )
    with pytest.raises(BadUsage, match=r"`embedder\.base_url` is plain HTTP"):
        async with wiring.embedder(Settings(embedder=embedder)):
            pass


def graph(url: str, password: str | None = None) -> Settings:
    return Settings(graph=url, graph_password=SecretStr(password) if password else None)


@pytest.mark.parametrize("scheme", ["bolt", "neo4j"])
@pytest.mark.parametrize(
    ("login", "password"), [("", "drawn"), ("neo4j:drawn@", None)], ids=["setting", "URL"]
)
@pytest.mark.parametrize("host", ["graph.example", "192.168.0.7", "[2001:db8::1]", "neo4j"])
async def test_the_password_of_a_graph_does_not_go_to_another_machine_unencrypted(
    scheme: str, login: str, password: str | None, host: str
) -> None:
    settings = graph(f"{scheme}://{login}{host}:7687", password)
    with pytest.raises(BadUsage, match="TURNETL_ALLOW_UNENCRYPTED") as raised:
        async with wiring.store(settings, write=False):
            pass
    assert "drawn" not in str(raised.value)
    with pytest.raises(BadUsage, match="password would be sent there unencrypted"):
        ingestion.check(settings)


@pytest.mark.parametrize(
    ("url", "password"),
    [
        ("bolt://127.0.0.1:7687", "drawn"),
        ("neo4j://neo4j:drawn@localhost:7687", None),
        ("bolt://[::1]:7687", "drawn"),
        ("bolt+s://graph.example:7687", "drawn"),
        ("neo4j+ssc://graph.example:7687", "drawn"),
        ("bolt://graph.example:7687", None),
        ("bolt://neo4j@graph.example:7687", None),
        ("ladybug:///graph.example/graph.lbug", "drawn"),
    ],
)
def test_the_password_of_a_graph_goes_to_this_machine_and_over_tls(
    url: str, password: str | None
) -> None:
    ingestion.check(graph(url, password))


def test_the_user_may_allow_an_unencrypted_graph() -> None:
    refused = graph("bolt://neo4j:drawn@neo4j:7687")
    ingestion.check(refused.model_copy(update={"allow_unencrypted": True}))


def test_no_config_file_of_the_working_directory_allows_unencrypted_credentials(
    tmp_path: Path,
) -> None:
    home, folder = tmp_path / "home", tmp_path / "folder"
    for path in (home / ".graphiti", folder):
        path.mkdir(parents=True)
        (path / "graphiti.config.json").write_text(
            json.dumps({"turnetl": {"allow_unencrypted": True}})
        )
    files = read_project(folder, home)
    trusted = FolderTrust(files, files.digests)
    named = folder / "graphiti.config.json"
    for config, trust in ((None, trusted), (named, trusted), (named, FolderTrust(files))):
        with pytest.raises(BadUsage, match="not read from the working directory"):
            read_settings({}, config=config, home=home, folder=trust, arguments={})
    ignored = FolderTrust(files)
    own = read_settings({}, config=None, home=home, folder=ignored, arguments={})
    assert own.settings.allow_unencrypted
