"""Graphiti and fastembed send no usage statistics from a process that imports turnetl."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.onnx_models import write_download, write_model
from tests.servers import connection_audit

ROOT = Path(__file__).parents[2]
ENABLED = """
import turnetl.llm
from graphiti_core.telemetry.telemetry import is_telemetry_enabled
print(is_telemetry_enabled())
"""
BUILD = """
import turnetl.llm
from graphiti_core import Graphiti
from graphiti_core.driver.neo4j_driver import Neo4jDriver
from turnetl.llm.graphiti import GraphitiEmbedder, NoModel, NoReranker
driver = Neo4jDriver("bolt://127.0.0.1:1", "", "")
Graphiti(
    graph_driver=driver, llm_client=NoModel(), embedder=GraphitiEmbedder(None),
    cross_encoder=NoReranker(),
)
"""


EMBED = """
import asyncio
from pathlib import Path
from turnetl.llm.embedders.fast_embed import open_fastembed
for model in ("./tiny", "sentence-transformers/all-MiniLM-L6-v2"):
    assert asyncio.run(open_fastembed(model, Path.cwd()).embed(["a text"]))
"""


def run(program: str, folder: Path, **chosen: str) -> str:
    connection_audit.install_on_path(folder)
    environment = {
        "HOME": str(folder),
        "PATH": os.defpath,
        "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)]),
        connection_audit.LOG: str(folder / "connections.txt"),
        **chosen,
    }
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.mark.full
@pytest.mark.parametrize(
    ("chosen", "printed"),
    [({}, "False"), ({"GRAPHITI_TELEMETRY_ENABLED": "true"}, "True")],
    ids=["by default", "as chosen"],
)
def test_telemetry_of_graphiti_is_off_by_default(
    chosen: dict[str, str], printed: str, tmp_path: Path
) -> None:
    assert run(ENABLED, tmp_path, **chosen).strip() == printed


@pytest.mark.full
def test_a_graphiti_object_connects_to_no_other_host(tmp_path: Path) -> None:
    run(BUILD, tmp_path)
    hosts = {host for host, _ in connection_audit.connections(tmp_path / "connections.txt")}
    assert hosts <= {"127.0.0.1"}
    assert not (tmp_path / ".cache" / "graphiti").exists()


@pytest.mark.full
def test_a_model_on_this_machine_is_loaded_and_used_without_a_connection(tmp_path: Path) -> None:
    write_model(tmp_path / "tiny")
    write_download(tmp_path, "Qdrant/all-MiniLM-L6-v2-onnx", dimensions=384)
    run(EMBED, tmp_path)
    assert connection_audit.connections(tmp_path / "connections.txt") == set()
