"""The import contracts in pyproject.toml cover every module."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
OF_FLOWS = {
    "activity_report",
    "backfill_report",
    "base",
    "console",
    "ingestion",
    "json_output",
    "migration",
    "parsing",
    "pipeline",
    "prefect_report",
    "report_pages",
    "settings",
    "views",
}
"""What the flows may import of turnetl: verbs, their options, reports and display."""


def test_every_module_is_on_exactly_one_layer() -> None:
    (contract,) = _contracts("layers")
    layers = [name.strip() for layer in contract["layers"] for name in layer.split("|")]
    assert contract["containers"] == ["turnetl"]
    assert sorted(layers) == sorted(_modules("turnetl"))


def test_an_undeclared_module_breaks_the_layer_contract() -> None:
    (contract,) = _contracts("layers")
    assert contract["exhaustive"] is True
    assert not contract.get("exhaustive_ignores")
    assert not contract.get("ignore_imports")


def test_the_libraries_of_one_package_are_forbidden_to_the_whole_product() -> None:
    forbidden = [
        contract["forbidden_modules"]
        for contract in _contracts("forbidden")
        if contract["source_modules"] == ["turnetl"]
    ]
    libraries = [["graphiti_core", "neo4j"], ["mcp", "mcp_types"], ["prefect", "flows"]]
    assert sorted(forbidden) == libraries


def test_every_module_is_forbidden_to_the_flows_or_listed_as_theirs() -> None:
    [contract] = [one for one in _contracts("forbidden") if one["source_modules"] == ["flows"]]
    forbidden = {name.removeprefix("turnetl.") for name in contract["forbidden_modules"]}
    assert forbidden.isdisjoint(OF_FLOWS)
    assert forbidden | OF_FLOWS == set(_modules("turnetl"))


@pytest.mark.parametrize(("store", "other"), [("ladybug", "neo4j"), ("neo4j", "ladybug")])
def test_a_store_is_independent_of_the_other_store(store: str, other: str) -> None:
    contracts = [
        (contract["source_modules"], contract["forbidden_modules"])
        for contract in _contracts("forbidden")
    ]
    assert ([f"turnetl.graph.{store}"], [f"turnetl.graph.{other}"]) in contracts


def test_every_reader_of_a_format_and_every_extractor_is_independent_of_the_others() -> None:
    independent = [contract["modules"] for contract in _contracts("independence")]
    readers = [
        f"turnetl.formats.{path.parent.name}"
        for path in sorted((ROOT / "turnetl" / "formats").glob("*/__init__.py"))
        if path.parent.name != "kit"
    ]
    assert readers in independent
    assert ["turnetl.extraction.structural", "turnetl.extraction.llm"] in independent


def _contracts(kind: str) -> list[dict[str, Any]]:
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    assert linter["root_packages"] == ["turnetl", "flows"]
    return [contract for contract in linter["contracts"] if contract["type"] == kind]


def _modules(package: str) -> list[str]:
    """Return the packages and modules directly under a package."""
    folder = ROOT / package
    packages = [path.parent.name for path in folder.glob("*/__init__.py")]
    modules = [path.stem for path in folder.glob("*.py") if path.stem != "__init__"]
    return packages + modules
