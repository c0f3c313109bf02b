"""Of two processes that write one index, the second one waits for the first one.

A search does not wait if the index has turns.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType

import pytest

from tests.cli.command import clean_environment, command_line, index_folder, run_in_process
from turnetl.base.errors import IndexBusy
from turnetl.base.repeat import after_other_writers
from turnetl.index.files import IndexEmbedder, write_lock
from turnetl.index.persistent import create_index, index_id, replace_index
from turnetl.llm.embedders.static_model import WordLlamaEmbedder
from turnetl.pipeline.index import advice_if_busy


@contextmanager
def process(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Start a command; kill it if it still runs in the end."""
    running = subprocess.Popen(
        command_line(*arguments),
        cwd=folder,
        env=clean_environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with running:
        try:
            yield running
        finally:
            running.kill()


@pytest.mark.full
@pytest.mark.parametrize("command", [("index", "--rebuild"), ("search", "cart")])
def test_two_processes_that_make_the_same_index_both_succeed(
    command: tuple[str, ...], shop: Path
) -> None:
    shutil.rmtree(shop / ".turnetl" / "lake" / "index")
    with process(shop, "index", "--json") as first, process(shop, *command, "--json") as second:
        outputs = [one.communicate(timeout=60) for one in (first, second)]
    assert [first.returncode, second.returncode] == [0, 0], outputs
    assert json.loads(outputs[0][0])["turns"] == 2
    found = run_in_process("search", "cart", "--json", folder=shop).json
    assert len(found["hits"]) == 2
    assert found["unread"] is None


@contextmanager
def rebuilt_at(index: Path, function: str) -> Iterator[list[str]]:
    """Rebuild the index when a function is called, as soon as nobody has it locked, and only once.

    Yields what happened at each call so far: `busy`, or `rebuilt`.
    """
    embedder = WordLlamaEmbedder()
    outcomes: list[str] = []

    def rebuild(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_qualname == function and "rebuilt" not in outcomes:
            sys.setprofile(None)
            try:
                replace_index(index, IndexEmbedder(embedder.name, embedder.dimensions))
                outcomes.append("rebuilt")
            except IndexBusy:
                outcomes.append("busy")
            sys.setprofile(rebuild)

    sys.setprofile(rebuild)
    try:
        yield outcomes
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize(
    ("command", "function", "outcome"),
    [
        # The catalog is open, and nothing else.
        (("search", "cart"), "Selector.__init__", "rebuilt"),
        # All else is open.
        (("index",), "PassageVectors.__init__", "rebuilt"),
        # The turns are written.
        (("index",), "follow_session_level", "busy"),
        # All is written but what was read.
        (("search", "cart"), "PersistentIndex.record", "busy"),
    ],
)
def test_a_command_succeeds_if_another_process_rebuilds_the_index_while_it_is_opened_or_finished(
    command: tuple[str, ...], function: str, outcome: str, shop: Path
) -> None:
    index = index_folder(shop)
    shutil.rmtree(index.parent)
    with rebuilt_at(index, function) as outcomes:
        result = run_in_process(*command, "--json", folder=shop)
    assert result.exit_code == 0, result.messages
    assert outcomes[-1] == outcome
    found = run_in_process("search", "cart", "--json", folder=shop).json
    assert (len(found["hits"]), found["unread"]) == (2, None)


@pytest.mark.full
def test_a_second_writer_says_for_whom_it_waits_and_continues_afterwards(shop: Path) -> None:
    with ExitStack() as ended:
        ended.enter_context(holding := ExitStack())
        holding.enter_context(write_lock(index_folder(shop)))
        waiting = ended.enter_context(process(shop, "index", "--rebuild", "--json"))
        message = first_message(waiting)
        holding.close()
        output, _ = waiting.communicate(timeout=60)
    assert f"another turnetl process (process {os.getpid()}) updates the search index" in message
    assert waiting.returncode == 0
    assert json.loads(output)["added"] == 2


@pytest.mark.full
def test_ctrl_c_ends_the_waiting_and_a_search_does_not_wait(shop: Path) -> None:
    with write_lock(index_folder(shop)), process(shop, "index", "--rebuild") as waiting:
        assert "waits for up to 10 minutes; Ctrl-C stops it" in first_message(waiting)
        found = run_in_process("search", "cart", "--json", folder=shop)
        waiting.send_signal(signal.SIGINT)
        waiting.communicate(timeout=60)
    assert waiting.returncode == 130
    assert len(found.json["hits"]) == 2


async def test_the_waiting_is_bounded_and_the_error_says_what_to_do(shop: Path) -> None:
    index = index_folder(shop)

    async def work() -> None:
        replace_index(index, IndexEmbedder("embedder", 1))

    expected = rf"\(process {os.getpid()}\) .*: wait until it ends, then run the command again"
    with write_lock(index), pytest.raises(IndexBusy, match=expected), advice_if_busy():
        await after_other_writers(work, seconds=0)


def first_message(running: subprocess.Popen[str]) -> str:
    assert running.stderr is not None
    return running.stderr.readline()


@pytest.mark.full
def test_the_second_search_that_finds_a_damage_takes_the_index_that_the_first_one_made(
    shop: Path,
) -> None:
    folder, embedder = index_folder(shop), WordLlamaEmbedder()
    whole = run_in_process("search", "cart", "--json", folder=shop).json["hits"]
    (folder / "vectors" / "keys").write_bytes(b"garbage")
    with ExitStack() as ended:
        ended.enter_context(holding := ExitStack())
        holding.enter_context(write_lock(folder))
        second = ended.enter_context(process(shop, "search", "cart", "--json"))
        assert "this command waits" in first_message(second)
        (folder / "catalog.sqlite").unlink()
        create_index(folder, IndexEmbedder(embedder.name, embedder.dimensions))
        made = index_id(folder)
        holding.close()
        output, messages = second.communicate(timeout=60)
    assert (second.returncode, messages) == (0, "")
    assert json.loads(output)["hits"] == whole != []
    assert index_id(folder) == made
