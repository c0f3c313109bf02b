"""Which changes of Graphiti make turns stale: those of its prompts and of its decisions."""

import ast
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.extraction.canned_model import CannedModel
from tests.extraction.fixed_prompt import fixed_prompt
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.base import ids
from turnetl.base.model import GroupId
from turnetl.extraction.llm import LlmExtractor

ROOT = Path(__file__).parents[2]
DECIDING = (
    "prompts/*.py",
    "utils/maintenance/attribute_utils.py",
    "utils/maintenance/dedup_helpers.py",
    "utils/maintenance/edge_operations.py",
    "utils/maintenance/node_operations.py",
    "utils/text_utils.py",
    "llm_client/client.py",
    "graphiti_types.py",
)
"""The files of Graphiti that make the requests, or decide with their responses."""
READ = "7ca937ea01753355f0677c3aaf6219c4"
"""The digest of these files in the version that was read last."""


def test_a_turn_of_an_earlier_graphiti_with_the_same_prompts_is_not_stale() -> None:
    extractor = LlmExtractor(CannedModel(), ToyEmbedder(), prompts=fixed_prompt(None))
    rules = extractor.recipe_parts(GroupId("shop"))["model rules"].value
    assert rules == "5, Graphiti 0.31.1"


def test_the_deciding_files_of_graphiti_are_those_that_were_read() -> None:
    texts = [
        path.read_text(encoding="utf-8")
        for pattern in DECIDING
        for path in sorted(_graphiti().glob(pattern))
    ]
    assert ids.digest(*texts) == READ, (
        "Graphiti changed: read the difference. If a prompt or a decision is another one, replace "
        "the version in turnetl/extraction/llm/__init__.py, and each turn of a model becomes stale"
    )


@pytest.mark.full
def test_nothing_of_turnetl_imports_the_class_whose_deletion_asks_a_model() -> None:
    """`Graphiti.remove_episode` sends requests that no journal and no budget would see."""
    imported = {
        name
        for folder in ("turnetl", "flows")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in _imported(node)
    }
    assert "graphiti_core.nodes.EntityNode" in imported
    assert imported.isdisjoint({"graphiti_core.Graphiti", "graphiti_core.graphiti"})
    assert not [name for name in imported if name.startswith("graphiti_core.graphiti.")]


def _graphiti() -> Path:
    spec = find_spec("graphiti_core")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []
