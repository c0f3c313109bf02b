"""What a model makes of the first turns of data/archives, with full and with short prompts.

    python -m benchmarks.small_model --url http://localhost:8080/v1 [--turns 6] [--prompts short]

`--url` is an OpenAI-compatible server with one model. A row for each length of prompts: turns that
were committed and quarantined, requests, tokens and seconds a turn, entities, facts, and what the
model copied from its instructions.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ARCHIVES = Path(__file__).parent.parent / "data" / "archives"
LENGTHS = ("full", "short")
_COLUMNS = (
    *("prompts", "turns", "quarantined", "requests", "in/turn", "out/turn", "s/turn"),
    *("entities", "facts", "copied"),
)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--turns", type=int, default=6, help="of each of the two groups")
    parser.add_argument("--prompts", choices=LENGTHS, action="append")
    options = parser.parse_args(arguments)
    print("".join(f"{name:>12}" for name in _COLUMNS))
    for length in options.prompts or LENGTHS:
        with tempfile.TemporaryDirectory() as folder:
            result = ingested(Path(folder), options.url, length, options.turns)
        print("".join(f"{cell:>12}" for cell in _row(length, result)))


def ingested(folder: Path, url: str, length: str, turns: int) -> Mapping[str, Any]:
    """Return the result of `turnetl ingest` of the first turns of each group."""
    environment = os.environ | {  # noqa: TID251 - of a child process
        "TURNETL_LAKE": str(folder / "lake"),
        "TURNETL_LLM__PROVIDER": "openai-compatible",
        "TURNETL_LLM__BASE_URL": url,
        "TURNETL_LLM__MODEL": "benchmarked",
        "TURNETL_LLM__CONCURRENCY": "1",
        "TURNETL_LLM__TIMEOUT_SECONDS": "600",
        "TURNETL_EXTRACTION__PROMPTS": length,
    }
    for stage in (("parse", str(ARCHIVES)), ("filter",)):
        _turnetl(*stage, environment=environment)
    limits = "--run-ahead", "0", "--limit", str(turns)
    return json.loads(_turnetl("ingest", *limits, environment=environment))  # type: ignore[no-any-return]


def _turnetl(*arguments: str, environment: Mapping[str, str]) -> str:
    command = [sys.executable, "-m", "turnetl", *arguments, "--json"]
    return subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, text=True, check=False
    ).stdout


def _row(length: str, result: Mapping[str, Any]) -> list[str]:
    groups, total = result["groups"], result["usage"]
    turns = max(result["committed"] + result["quarantined"], 1)
    copied = sum(group["discarded"].get("copied", 0) for group in groups)
    return [
        length,
        f"{result['committed']}",
        f"{result['quarantined']}",
        f"{total['calls']}",
        f"{total['prompt_tokens'] / turns:,.0f}",
        f"{total['completion_tokens'] / turns:,.0f}",
        f"{total['seconds'] / turns:.0f}",
        f"{sum(group['entities'] for group in groups)}",
        f"{sum(group['facts'] for group in groups)}",
        f"{copied}",
    ]


if __name__ == "__main__":
    main()
