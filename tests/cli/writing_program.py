"""Keeps writing a turns file, a quarantined turn and a spilled table until it is killed.

    python -m tests.cli.writing_program LAKE

It prints a line when all temporary files exist.
"""

import sys
from pathlib import Path
from typing import IO

from turnetl.lake import QUARANTINE, replace_file, temporary_folder


def write(lake: Path) -> None:
    def write_turns(file: IO[bytes]) -> None:
        file.write(b"PAR1")
        replace_file(lake / QUARANTINE / "shop" / "turn.json", write_quarantine, lake)

    def write_quarantine(file: IO[bytes]) -> None:
        file.write(b"{")
        with temporary_folder(lake / "episodes", lake) as spilled:
            (spilled / "0-0").write_bytes(b"ARROW1")
            print("written", flush=True)  # noqa: T201 - read by the test
            sys.stdin.read()

    replace_file(lake / "turns" / "shop" / "archive.parquet", write_turns, lake)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
