"""A command imports only what it needs: importing everything takes seconds."""

import subprocess
import sys
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
    assert output.splitlines()[-2:] == ["nothing new", "0 []"]


def run_and_list(names: tuple[str, ...], *arguments: str | Path) -> str:
    """Run the command in a new process; its last line lists which of these modules it imported."""
    return subprocess.run(
        [sys.executable, "-c", COMMAND, " ".join(names), *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
