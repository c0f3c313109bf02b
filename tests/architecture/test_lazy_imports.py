"""A command imports only what it needs: importing everything takes seconds."""

import subprocess
import sys
from pathlib import Path

from tests.cli.command import run_in_process
from tests.real_archives import SAMPLES

ROOT = Path(__file__).parents[2]
HEAVY = (
    "polars", "pyarrow", "httpx", "openai", "graphiti_core", "neo4j", "ladybug", "prefect",
    "dateparser", "cyclopts.help", "rich.progress", "turnetl.llm.chat", "turnetl.llm.meter",
    "turnetl.llm.retry", "turnetl.extraction.structural", "turnetl.formats",
)  # fmt: skip
SEARCH = f"""
import sys
from turnetl.cli import main
sys.argv[1:] = ["search", "why did the tests fail", "--lake", sys.argv[1]]
try:
    main()
except SystemExit as end:
    print(end.code, [name for name in {HEAVY} if name in sys.modules])
"""


def test_a_search_in_a_current_index_imports_no_library_of_the_other_stages(
    tmp_path: Path,
) -> None:
    run_in_process("backfill", SAMPLES, "--lake", tmp_path, folder=tmp_path)
    result = subprocess.run(
        [sys.executable, "-c", SEARCH, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "test" in result.stdout
    assert result.stdout.splitlines()[-1] == "0 []"
