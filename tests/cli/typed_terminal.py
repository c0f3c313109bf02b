"""The command on a terminal at which somebody answers its question."""

import os
import pty
import subprocess
from pathlib import Path

from tests.cli.command import clean_environment, command_line


def answered(*arguments: str, folder: Path, typed: str) -> tuple[str, int]:
    """Run the command in a terminal of 80 columns; return all that it prints, and its exit code."""
    terminal, child = pty.openpty()
    with subprocess.Popen(
        command_line(*arguments),
        cwd=folder,
        env=clean_environment(folder) | {"TERM": "dumb", "COLUMNS": "80"},
        stdin=child,
        stdout=child,
        stderr=child,
    ) as process:
        os.close(child)
        os.write(terminal, typed.encode())
        chunks = []
        try:
            while chunk := os.read(terminal, 4_096):
                chunks.append(chunk)
        except OSError:  # how Linux reports the end of a terminal
            pass
        code = process.wait(timeout=60)
    os.close(terminal)
    return b"".join(chunks).decode().replace("\r\n", "\n"), code
