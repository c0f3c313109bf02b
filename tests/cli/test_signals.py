"""SIGINT and SIGTERM stop a command, wherever they interrupt it."""

import asyncio
import signal
import socket
import subprocess
import sys
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli.archives import conversation, write_archive
from tests.cli.command import ROOT, clean_environment, command_line, restored_handlers
from turnetl import cli, console, pipeline
from turnetl.base.progress import ProgressUpdate
from turnetl.base.stop_signals import STOP_SIGNALS, StopSignals
from turnetl.pipeline import Stage, Unit

STOPPED = "turnetl: stopped; finished work is kept, and the same command continues from there\n"
PARSING = Unit(Stage.PARSE, "archives")
IN_POLARS = """
import os, signal, sys, time
import polars as pl
from cyclopts import App
from turnetl import console

app = App(result_action="return_value", suppress_keyboard_interrupt=False)

@app.default
def work() -> int:
    pl.Series([1]).map_elements(stop, return_dtype=pl.Int64)
    os.write(1, b"polars finished\\n")  # The signal may interrupt `print` before the newline.
    time.sleep(60)
    return 0

def stop(number: int) -> int:
    signal.raise_signal(int(sys.argv[1]))
    return number

sys.exit(console.run(app, []))
"""


IN_IMPORT = """
import signal, sys

class Interrupted:
    def find_spec(self, name, path=None, target=None):
        if name == "cyclopts":
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupted())
from turnetl.__main__ import main
main()
"""


def test_ctrl_c_while_the_command_is_imported_is_a_message_and_no_traceback() -> None:
    program = [sys.executable, "-c", IN_IMPORT]
    result = subprocess.run(program, capture_output=True, text=True, check=False, cwd=ROOT)
    assert (result.returncode, result.stdout) == (130, "")
    assert result.stderr == "turnetl: stopped before it began\n"


def test_a_signal_within_polars_waits_until_polars_is_done() -> None:
    result = subprocess.run(
        [sys.executable, "-c", IN_POLARS, str(int(signal.SIGTERM))],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert result.returncode == 130, result.stderr
    assert result.stdout == "polars finished\n"
    assert result.stderr.startswith("turnetl: stopped")


@pytest.mark.full
def test_a_backfill_stops_while_it_still_parses(tmp_path: Path) -> None:
    """It does not wait until all archives are parsed, which may take minutes."""
    for number in range(1500):
        write_archive(
            tmp_path / "archives" / f"{number}.jsonl",
            conversation("add a cart", session=str(number)),
        )
    running = subprocess.Popen(
        command_line("backfill", "archives"),
        cwd=tmp_path,
        env=clean_environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not list(tmp_path.glob(".turnetl/lake/turns/*/*.parquet")):
        assert running.poll() is None
        time.sleep(0.01)
    running.send_signal(signal.SIGTERM)
    _, stderr = running.communicate(timeout=60)
    assert running.returncode == 130, stderr
    assert len(list(tmp_path.glob(".turnetl/lake/turns/*/*.parquet"))) < 1500
    assert not list(tmp_path.glob(".turnetl/lake/episodes/*.parquet"))


class Finalized:
    """Calls a function when it is collected: Python discards an exception of that function."""

    def __init__(self, finalize: Callable[[], object]) -> None:
        self._finalize = finalize

    def __del__(self) -> None:
        self._finalize()


class Referenced:
    """Can be referenced weakly."""


def call_in_finalizer(function: Callable[[], object]) -> None:
    Finalized(function)


def call_in_weakref_callback(function: Callable[[], object]) -> None:
    referenced = Referenced()
    reference = weakref.ref(referenced, lambda _: function())
    del referenced
    assert reference() is None


PLACES = pytest.mark.parametrize("call", [call_in_finalizer, call_in_weakref_callback])
SIGNALS = pytest.mark.parametrize("number", STOP_SIGNALS)


def exit_code(work: Callable[[], object]) -> int:
    """Run a command that only does this work."""

    def command(*_: object, **__: object) -> int:
        work()
        return 0

    with restored_handlers():
        return console.run(command, [])


def wait_for_a_signal() -> None:
    """Block until a signal interrupts: a lost one is an error."""
    time.sleep(60)
    raise AssertionError("the signal was lost")


@PLACES
@SIGNALS
def test_a_signal_whose_exception_python_discards_interrupts_blocking_work(
    call: Callable[..., None], number: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    def work() -> None:
        call(lambda: signal.raise_signal(number))
        wait_for_a_signal()

    assert exit_code(work) == 130
    assert capsys.readouterr().err == STOPPED


@PLACES
@SIGNALS
def test_a_signal_cancels_a_coroutine_and_raises_nothing_where_it_arrives(
    call: Callable[..., None], number: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    finished = []

    async def work() -> None:
        call(lambda: signal.raise_signal(number))
        finished.append("the step in which it arrived")
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)
            finished.append("clean-up")

    assert exit_code(lambda: console.run_async(work())) == 130
    assert finished == ["the step in which it arrived", "clean-up"]
    assert capsys.readouterr().err == STOPPED


@SIGNALS
def test_a_step_of_progress_stops_work_that_discarded_the_exception(
    number: signal.Signals,
) -> None:
    steps = []

    def work() -> None:
        with console.show_progress(as_json=True) as progress:
            for done in range(3):
                progress(ProgressUpdate("parse", "archives", done, 3))
                steps.append(done)
                with suppress(KeyboardInterrupt):
                    signal.raise_signal(number)

    assert exit_code(work) == 130
    assert steps == [0]


@SIGNALS
def test_a_second_signal_ends_the_clean_up_of_a_coroutine(number: signal.Signals) -> None:
    async def work() -> None:
        try:
            signal.raise_signal(number)
            await asyncio.sleep(60)
        finally:
            signal.raise_signal(number)
            raise AssertionError("the clean-up went on")

    assert exit_code(lambda: console.run_async(work())) == 130


def test_a_coroutine_that_returns_in_spite_of_a_signal_is_stopped_all_the_same() -> None:
    async def work() -> None:
        signal.raise_signal(signal.SIGINT)

    assert exit_code(lambda: console.run_async(work())) == 130


def test_an_error_of_the_clean_up_does_not_replace_the_sentence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def work() -> None:
        signal.raise_signal(signal.SIGINT)
        try:
            await asyncio.sleep(60)
        finally:
            raise OSError("the connection is closed")

    assert exit_code(lambda: console.run_async(work())) == 130
    assert capsys.readouterr().err == STOPPED


@SIGNALS
def test_blocking_work_on_the_event_loop_is_interrupted(number: signal.Signals) -> None:
    def blocking() -> None:
        signal.raise_signal(number)
        wait_for_a_signal()

    executor = pipeline.InProcess(console.interruptible)
    assert exit_code(lambda: console.run_async(executor.run_blocking(PARSING, blocking))) == 130


def test_blocking_work_does_not_begin_after_a_signal() -> None:
    begun = []

    async def work() -> None:
        signal.raise_signal(signal.SIGINT)
        executor = pipeline.InProcess(console.interruptible)
        await executor.run_blocking(PARSING, lambda: begun.append("parsing"))

    assert exit_code(lambda: console.run_async(work())) == 130
    assert begun == []


def test_a_deferred_signal_interrupts_after_the_block() -> None:
    signals = StopSignals()
    finished = []

    def work() -> None:
        with signals.deferred():
            signal.raise_signal(signal.SIGTERM)
            finished.append("the block")
        finished.append("what follows")

    with restored_handlers(), signals.installed(), pytest.raises(KeyboardInterrupt):
        work()
    assert finished == ["the block"]


def test_a_block_that_hangs_does_not_defer_a_signal_forever() -> None:
    signals = StopSignals(max_deferral=0.01)

    def work() -> None:
        with signals.deferred():
            signal.raise_signal(signal.SIGTERM)
            wait_for_a_signal()

    with restored_handlers(), signals.installed(), pytest.raises(KeyboardInterrupt):
        work()


READING = "turnetl: stopped before there was a result; run the same command again to get it\n"


@pytest.mark.full
def test_a_stopped_command_that_only_reads_does_not_speak_of_finished_work(tmp_path: Path) -> None:
    with socket.create_server(("localhost", 0)) as silent_graph:
        url = f"bolt://user:password@localhost:{silent_graph.getsockname()[1]}"
        running = subprocess.Popen(
            command_line("search", "cart", "--graph", url),
            cwd=tmp_path,
            env=clean_environment(tmp_path),
            stderr=subprocess.PIPE,
            text=True,
        )
        connection, _ = silent_graph.accept()
        running.send_signal(signal.SIGINT)
        _, stderr = running.communicate(timeout=60)
        connection.close()
    assert (running.returncode, stderr) == (130, READING)


def test_a_command_that_is_not_named_as_reading_continues_where_it_stopped() -> None:
    names = {name for name in cli.app if not name.startswith("-")}
    continued = {
        *("backfill", "filter", "forget", "index", "ingest", "journal", "parse", "retry"),
        *(
            "communities",
            "evaluate",
            "graph",
            "plan",
            "prefect",
            "redo",
            "summarize",
            "templates",
            "trust",
        ),
        *("export", "hook", "import", "install", "review", "undo", "uninstall", "verify"),
    }
    assert names - cli.READING_COMMANDS == continued
    assert names >= cli.READING_COMMANDS


SIGNAL_AFTERWARDS = """
import signal, sys
from turnetl import console

console.run(lambda *_, **__: 0, [])
signal.raise_signal(int(sys.argv[1]))
"""


def test_after_a_command_a_signal_ends_the_process_silently() -> None:
    for number in STOP_SIGNALS:
        result = subprocess.run(
            [sys.executable, "-c", SIGNAL_AFTERWARDS, str(int(number))],
            capture_output=True,
            check=False,
            cwd=ROOT,
        )
        assert (result.returncode, result.stderr) == (-number, b"")
