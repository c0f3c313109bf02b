"""Embedders by name, from the settings to the hits of a search."""

from pathlib import Path

from tests.cli.command import SAMPLES, run_in_process
from tests.fakes.onnx_models import write_model


def test_a_model_in_a_folder_embeds_the_graph_and_the_queries(tmp_path: Path) -> None:
    model = write_model(tmp_path / "tiny")
    environment = {"TURNETL_EMBEDDER__PROVIDER": f"fastembed:{model}"}
    assert run_in_process("backfill", SAMPLES, folder=tmp_path, **environment).exit_code == 0
    query = ("search", "why were customers charged twice")
    result = run_in_process(*query, folder=tmp_path, **environment)
    assert (result.exit_code, result.messages) == (0, [])
    assert "two customers were charged once" in result.stdout
    other = run_in_process(*query, folder=tmp_path)
    assert other.exit_code == 1
    assert "made with the embedder `fastembed/tiny/" in other.stderr


def test_a_model_that_nobody_knows_is_reported_before_anything_is_read(tmp_path: Path) -> None:
    environment = {"TURNETL_EMBEDDER__PROVIDER": "fastembed:BAAI/bge-smal"}
    result = run_in_process("backfill", SAMPLES, folder=tmp_path, **environment)
    assert result.exit_code == 2
    assert result.messages[0].startswith("turnetl: fastembed has no model `BAAI/bge-smal`; similar")
