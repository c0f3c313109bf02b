"""What Graphiti logs while a command runs: nothing on the terminal, and a line with `--verbose`."""

from pathlib import Path

import pytest

from tests.cli.archives import conversation, write_archive
from tests.cli.command import turnetl_process
from tests.cli.provider_setup import SESSION_START, model_environment
from tests.servers.provider import FakeProvider


@pytest.mark.full
@pytest.mark.parametrize("is_verbose", [False, True])
def test_a_command_prints_no_warning_of_graphiti(
    provider: FakeProvider, tmp_path: Path, is_verbose: bool
) -> None:
    # The fact names an entity that the model did not extract.
    prompt = "Look again at the shop, please: `cart.py` uses `!zanzibar`."
    write_archive(tmp_path / "a.jsonl", conversation(prompt, at=SESSION_START))
    options = ("--verbose",) if is_verbose else ()
    done = turnetl_process(
        "backfill", "a.jsonl", *options, folder=tmp_path, **model_environment(provider)
    )
    assert done.exit_code == 0, done.stderr
    assert "Materialized" in done.stderr or not is_verbose
    lines = [line for line in done.stderr.splitlines() if "Materialized" in line]
    assert all(" DEBUG turnetl.extraction.llm.graphiti_calls: Graphiti: " in line for line in lines)
    assert bool(lines) == is_verbose
    assert not any("zanzibar" in line for line in lines)
