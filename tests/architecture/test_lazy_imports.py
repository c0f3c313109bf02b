"""A command imports only what it needs: importing everything takes seconds."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.cli.command import run_in_process
from tests.real_archives import SAMPLES

ROOT = Path(__file__).parents[2]
HEAVY = (
    "polars", "pyarrow", "httpx", "openai", "graphiti_core", "neo4j", "ladybug", "prefect",
    "dateparser", "obstore", "pydantic_settings", "cyclopts.help", "rich.progress",
    "turnetl.llm.chat", "turnetl.llm.meter", "turnetl.llm.retry", "turnetl.extraction.structural",
    "turnetl.formats",
)  # fmt: skip
UNUSED_WITHOUT_CHANGES = (
    "httpx", "openai", "graphiti_core", "neo4j", "prefect", "kingfisher_sdk", "tantivy", "numpy",
    "obstore", "pyarrow", "pydantic_settings", "turnetl.formats.port", "turnetl.formats.claude",
    "turnetl.formats.codex", "turnetl.parsing.batches", "turnetl.parsing.workers",
    "turnetl.redact.engine", "turnetl.redact.pii", "turnetl.episodes.content",
    "turnetl.episodes.text", "turnetl.episodes.chunking", "turnetl.episodes.partitions",
    "turnetl.extraction.structural.extractor", "turnetl.extraction.structural.decisions",
    "turnetl.llm.journal", "turnetl.llm.meter", "turnetl.index.catalog", "turnetl.index.port",
    "turnetl.index.snapshot", "turnetl.base.terms", "turnetl.retrieval",
)  # fmt: skip
COMMAND = """
import sys
from turnetl.cli import main
names = sys.argv.pop(1).split()
try:
    main()
except SystemExit as end:
    print(end.code, [name for name in names if name in sys.modules])
"""


def test_every_module_that_must_not_be_imported_exists() -> None:
    own = {name for name in (*HEAVY, *UNUSED_WITHOUT_CHANGES) if name.startswith("turnetl.")}
    assert [name for name in own if find_spec(name) is None] == []


@pytest.mark.full
def test_every_name_that_is_imported_from_a_lazy_package_exists() -> None:
    # Neither mypy nor the start of a command sees these: `__getattr__` may return any name.
    missing = [
        f"{path.relative_to(ROOT)}: {package}.{name}"
        for folder in ("turnetl", "flows", "benchmarks", "tests")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for package, name in imported_names(path)
        if name not in names_of(package) and find_spec(f"{package}.{name}") is None
    ]
    assert missing == []


LAZY = (
    *("turnetl", "turnetl.pipeline", "turnetl.wiring", "turnetl.lake", "turnetl.episodes"),
    *("turnetl.extraction.llm", "turnetl.extraction.structural"),
)
"""Packages with a `__getattr__`."""


def names_of(package: str) -> set[str]:
    module = import_module(package)
    return {*vars(module), *module.__all__}


def imported_names(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each name that the file imports from a lazy package, with the package."""
    text = path.read_text(encoding="utf-8")
    if "from turnetl" in text:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.module in LAZY:
                yield from ((node.module, alias.name) for alias in node.names)


@pytest.mark.full
def test_a_search_in_a_current_index_imports_no_library_of_the_other_stages(
    tmp_path: Path,
) -> None:
    run_in_process("backfill", SAMPLES, "--lake", tmp_path, folder=tmp_path)
    output = run_and_list(HEAVY, "search", "why did the tests fail", "--lake", tmp_path)
    assert "test" in output
    assert output.splitlines()[-1] == "0 []"


@pytest.mark.full
def test_an_unchanged_backfill_imports_nothing_that_parses_renders_extracts_or_searches(
    tmp_path: Path,
) -> None:
    run_in_process("backfill", SAMPLES, "--lake", tmp_path, folder=tmp_path)
    output = run_and_list(UNUSED_WITHOUT_CHANGES, "backfill", SAMPLES, "--lake", tmp_path)
    assert output.splitlines()[-2].startswith("nothing new: ")
    assert output.splitlines()[-1] == "0 []"


def run_and_list(names: tuple[str, ...], *arguments: str | Path) -> str:
    """Run the command in a new process; its last line lists which of these modules it imported."""
    return subprocess.run(
        [sys.executable, "-c", COMMAND, " ".join(names), *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
