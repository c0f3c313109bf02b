"""The import contracts in pyproject.toml cover every module."""

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def test_every_module_is_on_exactly_one_layer() -> None:
    (contract,) = _contracts("layers")
    layers = [name.strip() for layer in contract["layers"] for name in layer.split("|")]
    assert contract["containers"] == ["turnetl"]
    assert sorted(layers) == sorted(_top_level_modules())


def test_an_undeclared_module_breaks_the_layer_contract() -> None:
    (contract,) = _contracts("layers")
    assert contract["exhaustive"] is True
    assert not contract.get("exhaustive_ignores")
    assert not contract.get("ignore_imports")


def test_the_forbidden_imports_apply_to_the_whole_package() -> None:
    contracts = _contracts("forbidden")
    assert {module for contract in contracts for module in contract["forbidden_modules"]} == {
        "graphiti_core",
        "neo4j",
        "prefect",
        "flows",
    }
    assert all(contract["source_modules"] == ["turnetl"] for contract in contracts)


def _contracts(kind: str) -> list[dict[str, Any]]:
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    return [contract for contract in linter["contracts"] if contract["type"] == kind]


def _top_level_modules() -> list[str]:
    """Return the packages and modules directly under turnetl."""
    package = ROOT / "turnetl"
    packages = [path.parent.name for path in package.glob("*/__init__.py")]
    modules = [path.stem for path in package.glob("*.py") if path.stem != "__init__"]
    return packages + modules
