"""The command and the flow run one pipeline: the same archives make the same lake and graph."""

import asyncio
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from prefect import State

from flows.backfill import backfill
from tests.cli import command
from tests.cli.archives import conversation, write_archive
from tests.prefect.conftest import ROOT
from tests.prefect.stored_graph import stored_graph, stored_tables

pytestmark = [pytest.mark.prefect, pytest.mark.usefixtures("in_process_flows")]


@pytest.mark.full
def test_changing_archives_make_the_same_lake_and_graph_through_command_and_flow(
    tmp_path: Path,
) -> None:
    archives, by_command, by_flow = (tmp_path / name for name in ("archives", "one", "other"))
    by_flow.mkdir()
    for change in (_begin, _continue_a_session, _move_to_another_group, _remove_an_archive):
        options = change(archives)
        ran = command.run_in_process(
            "backfill", archives, "--lake", by_command, *options, folder=tmp_path
        )
        assert ran.exit_code == 0, ran.stderr
        # Placeholders and versions depend on the key of the lake.
        shutil.copy(by_command / "redaction.key", by_flow)
        parameters = dict(zip(("group",), options[1:], strict=False))
        state = asyncio.run(_flow(archives, by_flow, **parameters))
        assert state.is_completed(), state.message
        assert stored_tables(by_command) == stored_tables(by_flow)
        assert asyncio.run(stored_graph(by_command)) == asyncio.run(stored_graph(by_flow))


async def _flow(archives: Path, lake: Path, **parameters: str) -> State[Any]:
    state: State[Any] = await backfill(
        [str(archives)], lake=str(lake), batch_size=1, **parameters, return_state=True
    )
    return state


def _begin(archives: Path) -> Sequence[str]:
    archives.mkdir()
    for name in ("bookshop/2026-05-05-export.jsonl", "shoebox/2026-04-19-heic.jsonl"):
        shutil.copy(ROOT / "data" / "archives" / name, archives)
    start = datetime(2026, 3, 2, 9, tzinfo=UTC)
    write_archive(archives / "talk.jsonl", conversation("add a cart", "test the cart", at=start))
    return ()


def _continue_a_session(archives: Path) -> Sequence[str]:
    start = datetime(2026, 3, 2, 9, tzinfo=UTC)
    write_archive(
        archives / "talk.jsonl",
        conversation("add a cart", "test the cart", "document it", at=start),
    )
    return ()


def _move_to_another_group(_: Path) -> Sequence[str]:
    """All archives move to one group; the episodes of their former groups are emptied."""
    return ("--group", "everything")


def _remove_an_archive(archives: Path) -> Sequence[str]:
    (archives / "2026-05-05-export.jsonl").unlink()
    return ()
