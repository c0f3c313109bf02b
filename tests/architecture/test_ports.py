"""Every Protocol has a contract suite that all its implementations run."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTRACTS = {
    "AdmissionLimits": "tests/llm/test_limiter.py",
    "ArchiveFiles": "tests/parse/test_archive_files_contract.py",
    "ChatModel": "tests/llm/test_model_contract.py",
    "CommunityWriter": "tests/summaries/test_community_writer_contract.py",
    "Embedder": "tests/llm/test_embedder_contract.py",
    "Executor": "tests/prefect/test_executor_contract.py",
    "Extractor": "tests/extraction/test_extractor_contract.py",
    "Reader": "tests/formats/test_contract.py",
    "GraphStore": "tests/graph/test_store_contract.py",
    "GroupView": "tests/graph_mirror/test_group_view_contract.py",
    "ProviderAdapter": "tests/llm/test_providers.py",
    "Redactor": "tests/redact/test_redactor_contract.py",
    "LakeFiles": "tests/lake/test_files_contract.py",
    "LimitsStore": "tests/llm/shared_limits/test_store_contract.py",
    "SharedResponses": "tests/llm/test_shared_responses.py",
    "Summariser": "tests/summaries/test_summariser_contract.py",
}
"""The suite of each Protocol; it is parametrised over the implementations."""
WITHOUT_CONTRACT = {
    "Guesses": "one implementation, ResolutionGuesses, of the extractor that knows the prompts",
    "LlmPort": "one implementation, LlmExtractor: what `hybrid` uses beside the port of extractors",
    "OpenFile": "one implementation, LadybugFile, which imports the module of the port",
    "FollowedGraph": "a part of GraphStore, whose contract suite has its methods",
    "PackRunner": "one implementation, DaskPacks of the flows, which import the module of the port",
    "ReceiptStore": "a part of GraphStore, whose contract suite has its methods",
    "ReportPage": "one implementation, ActivityPageFile, which a command passes in",
    "SessionLevelGraph": "a part of GraphStore, whose contract suite has its methods",
    "TurnStore": "a part of GraphStore, whose contract suite has its methods",
    "TemplateLoader": "one implementation, TemplateResolver, which imports the module of the port",
    "_Embedded": "attributes that entities and facts have in common",
    "_HasBody": "tells models over HTTP from fakes: `test_request_preview` compares their bodies",
    "_GroupResult": "attributes that the reports of groups have in common",
    "_Group": "attributes that the reports on a group have in common",
    "_View": "modules of `views` that one function calls: mypy compares them with it",
    "_Report": "an attribute that the reports of redo, undo and forget have in common",
}
"""Protocols that are no seam, each with the reason."""


def protocols() -> Iterator[str]:
    for path in sorted((ROOT / "turnetl").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and any(map(_is_protocol, node.bases)):
                yield node.name


@pytest.mark.full
def test_every_protocol_has_a_contract_suite_or_a_reason_to_have_none() -> None:
    assert sorted(protocols()) == sorted({**CONTRACTS, **WITHOUT_CONTRACT})
    assert CONTRACTS.keys().isdisjoint(WITHOUT_CONTRACT)


def test_every_contract_suite_exists() -> None:
    assert [suite for suite in CONTRACTS.values() if not (ROOT / suite).is_file()] == []


def _is_protocol(base: ast.expr) -> bool:
    return ast.unparse(base).partition("[")[0] in ("Protocol", "typing.Protocol")
