"""No message advises to destroy what cannot be made again.

That is an embedded graph, turns whose archives are gone, the journal (responses that were paid
for), the redaction key and the list of forgotten turns.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.command import ROOT
from turnetl.verification.check import Check

PACKAGES = (
    *("episodes", "graph", "index", "ingestion", "lake", "llm/journal", "parsing", "pipeline"),
    *("transfer", "verification", "wiring"),
)
DESTROYS = re.compile(
    r"\b(delete|erase|rm -\w+|throw away) (it|the|them|this|your)\b", re.IGNORECASE
)
REMOVES = re.compile(r"(?<!-)\bremove (it|the (lake|graph|journal|key|list|file|table))\b")
IN_PAGES = re.compile(
    r"\b(delete|remove|rm -\w+) (the |your )?(lake|journal|graph|redaction key|folder `?turns)",
    re.IGNORECASE,
)


def messages(path: Path) -> Iterator[str]:
    """Yield the string literals of a module that are no docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    described = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
            yield "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and id(node) not in described:
            yield str(node.value)


@pytest.mark.parametrize("package", PACKAGES)
def test_no_message_about_files_advises_to_delete_them(package: str) -> None:
    modules = sorted((ROOT / "turnetl" / package).rglob("*.py"))
    assert modules
    for module in modules:
        for text in messages(module):
            assert not DESTROYS.search(text), (module, text)
            # Links and lines of settings can be made again.
            is_harmless = any(word in text for word in ("symbolic link", "is a link", "rules"))
            assert is_harmless or not REMOVES.search(text), (module, text)


def test_no_remedy_of_a_finding_deletes_a_file() -> None:
    for check in Check:
        assert not DESTROYS.search(check.remedy), check


def test_no_page_advises_to_delete_a_lake_or_what_is_in_it(subtests: pytest.Subtests) -> None:
    for page in sorted((ROOT / "docs").glob("*.md")):
        with subtests.test(page=page):
            text = page.read_text(encoding="utf-8").replace(
                "**Can I delete the lake?** Better not.", ""
            )
            assert not IN_PAGES.findall(text)
