"""The installed wheel runs the backfill outside the checkout, and connects to nothing unasked."""

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.packaging import no_network
from tests.packaging.installation import Installation
from tests.servers import connection_audit
from tests.servers.neo4j_server import Neo4jServer
from tests.servers.provider import KEY, FakeProvider

# One installation for all of them, where one of them finds its Neo4j.
pytestmark = pytest.mark.xdist_group("neo4j")

ROOT = Path(__file__).parents[2]
COMMANDS = {
    "backfill": ("backfill", "archives"),
    "search": ("search", "export"),
    "status": ("status",),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two archives and nothing else."""
    copy_archives(tmp_path)
    return tmp_path


@pytest.mark.full
def test_without_fastembed_its_embedder_says_what_to_install(
    installation: Installation, folder: Path
) -> None:
    attempt = (
        "from turnetl.llm.embedders import open_embedder\n"
        "try: open_embedder('fastembed', model='BAAI/bge-small-en-v1.5')\n"
        "except Exception as error: print(error)"
    )
    assert "run `pip install 'turnetl[semantic]'`" in installation.evaluate(attempt, cwd=folder)


@pytest.mark.full
def test_the_main_job_runs_from_another_folder_and_opens_no_connection(
    installation: Installation, folder: Path
) -> None:
    results, connected_to = run_all(installation, folder)
    assert results["backfill"]["committed"] > 0
    assert "archives/2026-05-05-export.jsonl" in json.dumps(results["search"])
    assert connected_to == set()


@pytest.mark.full
@pytest.mark.skipif(not no_network.is_available(), reason="needs Linux and `unshare -rn`")
def test_the_main_job_runs_without_a_network_and_tries_to_send_nothing(
    installation: Installation, folder: Path
) -> None:
    for name, command in COMMANDS.items():
        output, sent = installation.turnetl_without_network(
            *(*command, "--lake", "lake", "--json"), cwd=folder
        )
        assert json.loads(output)[{"backfill": "committed", "search": "hits"}.get(name, "groups")]
        assert sent == 0, name


@pytest.mark.full
@pytest.mark.skipif(not no_network.is_available(), reason="needs Linux and `unshare -rn`")
def test_a_connection_of_native_code_is_counted(folder: Path) -> None:
    # `bash` opens the connection itself.
    done, sent = no_network.run(
        *("bash", "-c", "exec 3<>/dev/tcp/192.0.2.1/9"),
        cwd=folder,
        environment={"PATH": os.defpath},
    )
    assert done.returncode != 0
    assert sent == 1


@pytest.mark.neo4j
def test_only_the_configured_graph_and_model_are_connected_to(
    installation: Installation, folder: Path, neo4j: Neo4jServer, provider: FakeProvider
) -> None:
    results, connected_to = run_all(
        installation,
        folder,
        TURNETL_GRAPH=neo4j.url,
        TURNETL_EXTRACTOR="llm",
        TURNETL_LLM__PROVIDER="openai-compatible",
        TURNETL_LLM__BASE_URL=f"{provider.url}/v1",
        TURNETL_LLM__MODEL="canned",
        TURNETL_LLM__API_KEY=KEY,
    )
    assert results["backfill"]["committed"] > 0
    assert connected_to == {host_and_port(neo4j.address), host_and_port(provider.url)}


@pytest.mark.full
def test_the_built_in_templates_are_found(installation: Installation, folder: Path) -> None:
    listed = installation.turnetl("templates", "list", "--json", cwd=folder)
    for template in sorted(path.name for path in (ROOT / "templates").glob("*.md")):
        assert template in listed
    assert str(installation.site_packages / "turnetl" / "_templates") in listed
    assert str(ROOT) not in listed


@pytest.mark.full
def test_the_environment_has_neither_prefect_nor_development_tools(
    installation: Installation, folder: Path
) -> None:
    names = ["prefect", "fastapi", "sqlalchemy", "pytest", "mypy", "hypothesis"]
    probe = f"from importlib.util import find_spec; print([find_spec(one) for one in {names}])"
    assert installation.evaluate(probe, cwd=folder) == str([None for _ in names])


@pytest.mark.full
def test_without_prefect_the_flows_say_what_to_install(
    installation: Installation, folder: Path
) -> None:
    attempt = "try: import flows.backfill\nexcept ModuleNotFoundError as error: print(error)"
    assert "pip install 'turnetl[prefect]'" in installation.evaluate(attempt, cwd=folder)


@pytest.mark.full
def test_the_main_job_runs_on_the_python_of_the_tests(
    installation: Installation, folder: Path
) -> None:
    version = installation.evaluate("import sys; print(sys.version)", cwd=folder)
    assert version == sys.version


@pytest.mark.full
def test_every_module_of_the_package_imports_without_prefect(
    installation: Installation, folder: Path
) -> None:
    imports = (
        "import importlib, pkgutil, turnetl\n"
        "for module in pkgutil.walk_packages(turnetl.__path__, 'turnetl.'):\n"
        "    if not module.name.endswith('__main__'):\n"
        "        importlib.import_module(module.name)\n"
        "print(turnetl.__file__)"
    )
    assert installation.evaluate(imports, cwd=folder) == str(
        installation.site_packages / "turnetl" / "__init__.py"
    )


@pytest.mark.full
def test_the_installed_version_is_shown(installation: Installation, folder: Path) -> None:
    assert "0.1.0" in installation.turnetl("--version", cwd=folder)


def copy_archives(folder: Path) -> None:
    (folder / "archives").mkdir()
    for name in ("2026-05-05-export.jsonl", "2026-03-10-search.jsonl"):
        shutil.copy(ROOT / "data/archives/bookshop" / name, folder / "archives")


def run_all(
    installation: Installation, folder: Path, **settings: str
) -> tuple[dict[str, dict[str, Any]], set[tuple[str, int]]]:
    """Run each command; return what they print, and where they connected to."""
    log = folder / "connections.txt"
    results = {
        name: json.loads(
            installation.turnetl(
                *(*command, "--lake", "lake", "--json"),
                cwd=folder,
                **{connection_audit.LOG: str(log)},
                **settings,
            )
        )
        for name, command in COMMANDS.items()
    }
    return results, connection_audit.connections(log)


def host_and_port(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    assert parts.hostname
    assert parts.port
    return parts.hostname, parts.port
