"""The command on a terminal at which somebody answers its question."""

import os
import pty
import signal
import subprocess
from pathlib import Path

from tests.cli.command import clean_environment, command_line


def interrupted(*arguments: str, folder: Path, at: str) -> tuple[str, int]:
    """Press Ctrl-C when the text appears; return all that is printed, and the exit code."""
    terminal, child = pty.openpty()
    with subprocess.Popen(
        command_line(*arguments),
        cwd=folder,
        env=clean_environment(folder) | {"TERM": "dumb", "COLUMNS": "80"},
        stdin=child,
        stdout=child,
        stderr=child,
        process_group=0,
    ) as process:
        os.close(child)
        printed = b""
        try:
            while chunk := os.read(terminal, 4_096):
                printed += chunk
                if at.encode() in chunk:
                    process.send_signal(signal.SIGINT)
        except OSError:  # how Linux reports the end of a terminal
            pass
        code = process.wait(timeout=60)
    os.close(terminal)
    return printed.decode().replace("\r\n", "\n"), code


def answered(*arguments: str, folder: Path, typed: str, **environment: str) -> tuple[str, int]:
    """Run the command in a terminal of 80 columns; return all that it prints, and its exit code."""
    terminal, child = pty.openpty()
    with subprocess.Popen(
        command_line(*arguments),
        cwd=folder,
        env=clean_environment(folder) | {"TERM": "dumb", "COLUMNS": "80"} | environment,
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
