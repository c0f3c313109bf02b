"""Metrics for Prometheus, made of what `turnetl status --json` prints."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import run_in_process
from tests.deploy.files import DEPLOY, ROOT

LINE = re.compile(r'turnetl_[a-z_]+(\{group="[^"]+"\})? -?\d+(\.\d+)?')


def printed(status: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, DEPLOY / "status_metrics.py"],
        input=status,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


@pytest.mark.full
def test_the_metrics_of_a_status_are_those_of_its_groups(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "data" / "archives" / "shoebox", tmp_path / "archives")
    assert run_in_process("backfill", "archives", folder=tmp_path).exit_code == 0
    status = run_in_process("status", "--json", folder=tmp_path)
    lines = printed(status.stdout)
    assert [line for line in lines if not LINE.fullmatch(line)] == []
    [group] = status.json["groups"]
    for name in ("committed", "pending", "quarantined", "stale"):
        assert f'turnetl_turns_{name}{{group="shoebox"}} {group[name]}' in lines
    assert {"turnetl_status_failed 0", "turnetl_index_failed 0"} <= set(lines)


def test_a_status_that_failed_is_one_metric(tmp_path: Path) -> None:
    failed = run_in_process("status", "--json", "--graph", "ftp://nowhere", folder=tmp_path)
    assert failed.exit_code == 2
    assert json.loads(failed.stdout)["error"]
    assert printed(failed.stdout) == ["turnetl_status_failed 1"]
