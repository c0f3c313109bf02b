"""The command as a person runs it: another process, nothing of ours in its environment."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "data" / "archives"


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        values = json.loads(self.out)
        assert isinstance(values, dict)
        return values

    @property
    def said(self) -> list[str]:
        """The sentences meant for a person."""
        return [line for line in self.err.splitlines() if line.startswith("turnetl: ")]


def turnetl(*arguments: str | Path, folder: Path, **environment: str) -> Ran:
    """Run the command in `folder` with settings only from `environment`."""
    ran = subprocess.run(
        line(*arguments),
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=clean(folder) | environment,
    )
    assert "Traceback" not in ran.stderr, ran.stderr
    return Ran(ran.returncode, ran.stdout, ran.stderr)


def line(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "turnetl.cli", *map(str, arguments)]


def clean(home: Path) -> dict[str, str]:
    """This process's environment without any setting, and with another home."""
    ours = ("TURNETL_", "NEO4J_")
    there = {name: value for name, value in os.environ.items() if not name.startswith(ours)}  # noqa: TID251 - handed on
    # The secret scanner compiles its rules for seconds where it finds no cache of them.
    cache = there.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    return there | {"HOME": str(home), "XDG_CACHE_HOME": cache, "PYTHONPATH": str(ROOT)}
