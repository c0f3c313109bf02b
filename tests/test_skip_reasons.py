"""Every skip reason is used, and never written as a literal; docs/json.md describes each."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import turnetl
from turnetl.base.reason import SkipReason

ROOT = Path(turnetl.__file__).parent
PACKAGES = ("formats", "parsing")
"""Packages that count lines, rows, documents or archives as not used."""
SOURCES = sorted(path for name in PACKAGES for path in (ROOT / name).rglob("*.py"))
REASON_AT = {"BadArchive": 0, "Problem": 2}
"""The position of the reason among the arguments of a call."""


def test_every_reason_is_used() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)
    assert not [reason.name for reason in SkipReason if f"SkipReason.{reason.name}" not in text]


def test_no_reason_is_a_literal(subtests: pytest.Subtests) -> None:
    for path in SOURCES:
        with subtests.test(path=path):
            found = literal_reasons(path.read_text(encoding="utf-8"))
            assert not [f"{path}:{literal.lineno}: {literal.value!r}" for literal in found]


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def take(row) -> SkipReason | None:\n    return None if row else 'preamble'", "preamble"),
        ("def read(row) -> SkipReason | None:\n    return 'hook'", "hook"),
        ("counts.skipped['blank'] += 1", "blank"),
        ("raise BadArchive('empty', message)", "empty"),
        ("problem = Problem(path, None, 'truncated', message)", "truncated"),
    ],
)
def test_a_literal_reason_is_found(source: str, reason: str) -> None:
    assert [literal.value for literal in literal_reasons(source)] == [reason]


def literal_reasons(source: str) -> Iterator[ast.Constant]:
    """Yield the text literals that stand where a reason is expected."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and returns_reason(node):
            returned = (inner for inner in ast.walk(node) if isinstance(inner, ast.Return))
            yield from (text for inner in returned for text in texts(inner.value))
        elif isinstance(node, ast.Subscript) and name_of(node.value) == "skipped":
            yield from texts(node.slice)
        elif isinstance(node, ast.Call) and (at := REASON_AT.get(name_of(node.func))) is not None:
            yield from (text for argument in node.args[at : at + 1] for text in texts(argument))


def returns_reason(function: ast.FunctionDef) -> bool:
    returned = "" if function.returns is None else ast.unparse(function.returns)
    return "SkipReason" in returned


def texts(value: ast.expr | None) -> Iterator[ast.Constant]:
    """Yield the text literals that an expression may evaluate to."""
    if isinstance(value, ast.IfExp):
        yield from texts(value.body)
        yield from texts(value.orelse)
    elif isinstance(value, ast.BoolOp):
        yield from (text for operand in value.values for text in texts(operand))
    elif isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value


def name_of(value: ast.expr) -> str:
    return value.attr if isinstance(value, ast.Attribute) else getattr(value, "id", "")
