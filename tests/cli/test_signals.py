"""How the command takes a polite stop."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.archives import conversation, write_archive
from tests.cli.command import ROOT, clean_environment, command_line

STOPS = [signal.SIGINT, signal.SIGTERM]
IN_POLARS = """
import signal, sys, time
import polars as pl
from cyclopts import App
from turnetl import console

app = App(result_action="return_value", suppress_keyboard_interrupt=False)

@app.default
def work() -> int:
    pl.Series([1]).map_elements(stop, return_dtype=pl.Int64)
    print("polars was done")
    time.sleep(60)
    return 0

def stop(number: int) -> int:
    signal.raise_signal(int(sys.argv[1]))
    return number

sys.exit(console.run(app, []))
"""


@pytest.mark.parametrize("stops", STOPS)
def test_a_stop_in_the_midst_of_polars_waits_until_polars_is_done(stops: signal.Signals) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", IN_POLARS, str(int(stops))],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert ran.returncode == 130, ran.stderr
    assert ran.stdout == "polars was done\n"
    assert ran.stderr.startswith("turnetl: stopped")


@pytest.mark.parametrize("stops", STOPS)
def test_a_backfill_stops_while_it_still_reads(stops: signal.Signals, tmp_path: Path) -> None:
    """Not only once all is read: that may take minutes."""
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
    running.send_signal(stops)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130, said
    assert len(list(tmp_path.glob("data/lake/turns/*/*.parquet"))) < 3000
    assert not list(tmp_path.glob("data/lake/episodes/*.parquet"))
