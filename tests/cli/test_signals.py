"""SIGINT and SIGTERM stop a command."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.archives import conversation, write_archive
from tests.cli.command import ROOT, clean_environment, command_line

STOP_SIGNALS = [signal.SIGINT, signal.SIGTERM]
IN_POLARS = """
import signal, sys, time
import polars as pl
from cyclopts import App
from turnetl import console

app = App(result_action="return_value", suppress_keyboard_interrupt=False)

@app.default
def work() -> int:
    pl.Series([1]).map_elements(stop, return_dtype=pl.Int64)
    print("polars finished")
    time.sleep(60)
    return 0

def stop(number: int) -> int:
    signal.raise_signal(int(sys.argv[1]))
    return number

sys.exit(console.run(app, []))
"""


@pytest.mark.parametrize("stop_signal", STOP_SIGNALS)
def test_a_signal_within_polars_waits_until_polars_is_done(stop_signal: signal.Signals) -> None:
    result = subprocess.run(
        [sys.executable, "-c", IN_POLARS, str(int(stop_signal))],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert result.returncode == 130, result.stderr
    assert result.stdout == "polars finished\n"
    assert result.stderr.startswith("turnetl: stopped")


@pytest.mark.parametrize("stop_signal", STOP_SIGNALS)
def test_a_backfill_stops_while_it_still_parses(
    stop_signal: signal.Signals, tmp_path: Path
) -> None:
    """It does not wait until all archives are parsed, which may take minutes."""
    for number in range(3000):
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
    while not list(tmp_path.glob("data/lake/turns/*/*.parquet")):
        assert running.poll() is None
        time.sleep(0.01)
    running.send_signal(stop_signal)
    _, stderr = running.communicate(timeout=60)
    assert running.returncode == 130, stderr
    assert len(list(tmp_path.glob("data/lake/turns/*/*.parquet"))) < 3000
    assert not list(tmp_path.glob("data/lake/episodes/*.parquet"))
