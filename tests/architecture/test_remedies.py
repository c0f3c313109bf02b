"""Every fatal error names a remedy, and none is to destroy what cannot be made again.

That is an embedded graph, turns whose archives are gone, the journal (responses that were paid
for), the redaction key and the list of forgotten turns.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
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


ACTIONS = (
    "add alter ask check choose close correct create describe drop fill find forget forward give "
    "install keep leave let list make move name omit open point put raise read rebuild redo rename "
    "repair repeat replace restore retry run say select set shorten start swap take try type "
    "update use wait write"
)
ACTS = re.compile(
    r"(?:^|[,;:.(`] ?|\b(?:or|and|then|first|please|otherwise) )"
    rf"(?:{'|'.join(ACTIONS.split())})\b|`turnetl |resumes there|command continues",
    re.IGNORECASE,
)
NAMES_INPUT = re.compile(r"`|--\w|\{|TURNETL_|all of these conditions|is empty")
"""An error of usage may only say what is wrong with which argument, setting or file."""
IS_OTHERS = re.compile(r"\{(?:\w+\.)?error\}|\{problem\}|\{reason\}|\{\w*REMEDY\w*[}.]")
"""The text of another error, a cause that the caller completes, or a constant of that name."""
CAUGHT = {"AlreadyExists", "Unrecovered"}
"""These never reach a user: the code that calls what raises them also catches them."""


class ErrorSites:
    """Where the package raises errors that end a run, and all texts their messages may have."""

    def __init__(self, root: Path) -> None:
        trees = [ast.parse(path.read_text(encoding="utf-8")) for path in sorted(root.rglob("*.py"))]
        nodes = [node for tree in trees for node in ast.walk(tree)]
        self.functions = [
            node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
        self._bases = {one.name: {ast.unparse(base) for base in one.bases} for one in classes}
        self._definitions = defaultdict[str, list[ast.stmt]](list)
        """What a message may be made with: bodies of functions and classes, constants, by name."""
        for node in (*self.functions, *classes):
            self._definitions[node.name] += node.body
        for statement in (statement for tree in trees for statement in tree.body):
            add_assigned(statement, self._definitions)

    def below(self, base: str) -> set[str]:
        """Return the class and its subclasses, also indirect ones."""
        found, before = {base}, set[str]()
        while found != before:
            before = set(found)
            found |= {name for name, bases in self._bases.items() if found & bases}
        return found

    def messages(self, names: set[str]) -> Iterator[tuple[str, str]]:
        """Yield the class and the texts of each error that is made in a function."""
        for function in self.functions:
            local, inner = defaultdict[str, list[ast.stmt]](list), [*ast.walk(function)]
            for node in inner:
                add_assigned(node, local)
            for node in inner:
                if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                    continue
                if node.func.id in names and node.args:
                    yield node.func.id, self._message(node, node.func.id, local)

    def _message(self, call: ast.Call, error: str, local: Mapping[str, list[ast.stmt]]) -> str:
        """Return its texts, and those of the functions, constants and variables in it."""
        inner = [node for argument in call.args for node in ast.walk(argument)]
        named = {node.id for node in inner if isinstance(node, ast.Name)}
        named |= {
            node.func.attr
            for node in inner
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        }
        texts = [text for argument in call.args for text in strings(argument)]
        for name in sorted(named):
            texts += self._texts(local[name] if name in local else self._definitions[name])
        return "\n".join([*texts, *self._texts(self._definitions[error])])

    def _texts(self, definitions: list[ast.stmt]) -> list[str]:
        return [text for one in definitions for text in strings(one)]


def add_assigned(node: ast.AST, definitions: dict[str, list[ast.stmt]]) -> None:
    """Add an assignment under the name that it assigns."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        definitions[node.targets[0].id].append(node)


def strings(tree: ast.AST) -> list[str]:
    """Return the texts of literals that are no docstrings, `{expression}` for what is computed."""
    if isinstance(tree, ast.Expr) and isinstance(tree.value, ast.Constant):
        return []
    if isinstance(tree, ast.JoinedStr):
        parts = (
            f"{{{ast.unparse(part.value)}}}" if isinstance(part, ast.FormattedValue) else part.value
            for part in tree.values
            if isinstance(part, ast.Constant | ast.FormattedValue)
        )
        return ["".join(map(str, parts))]
    if isinstance(tree, ast.Constant):
        return [tree.value] if isinstance(tree.value, str) else []
    return [text for node in ast.iter_child_nodes(tree) for text in strings(node)]


@pytest.mark.full
def test_every_error_that_ends_a_run_names_a_remedy() -> None:
    sites = ErrorSites(ROOT / "turnetl")
    usage, fatal = sites.below("BadUsage"), sites.below("Fatal") - CAUGHT
    found = [*sites.messages(fatal)]
    assert len(found) > 350
    assert {name for name, _ in found} > usage
    without = [
        (name, text)
        for name, text in found
        if text
        and not (
            ACTS.search(text)
            or IS_OTHERS.search(text)
            or (name in usage and NAMES_INPUT.search(text))
        )
    ]
    assert without == []
