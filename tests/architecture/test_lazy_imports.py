"""A command imports only what it needs: importing everything takes seconds."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
HEAVY = ("polars", "pyarrow", "httpx", "graphiti_core", "neo4j", "ladybug", "prefect", "dateparser")
SEARCH = f"""
import sys
from turnetl.pipeline.search import search_turns
from turnetl.cli import search
from turnetl.json_output import search
from turnetl.report import search_hits
print([name for name in {HEAVY} if name in sys.modules])
"""


def test_a_search_imports_no_library_of_the_other_stages() -> None:
    result = subprocess.run(
        [sys.executable, "-c", SEARCH], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
