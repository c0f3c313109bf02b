"""The command on a terminal at which somebody answers its question."""

import os
import pty
import select
import signal
import subprocess
import time
from pathlib import Path

from tests.cli.command import clean_environment, command_line


def interrupted(*arguments: str, folder: Path, at: str) -> tuple[str, int]:
    """Press Ctrl-C when it asks with this text; return all that is printed, and the exit code.

    A process that does not react within a minute is killed.
    """
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
            while select.select([terminal], [], [], 60)[0]:
                chunk = os.read(terminal, 4_096)
                printed += chunk
                if at.encode() in chunk:
                    _wait_until_it_reads(process.pid)
                    process.send_signal(signal.SIGINT)
            process.kill()
        except OSError:  # how Linux reports the end of a terminal
            pass
        code = process.wait(timeout=60)
    os.close(terminal)
    return printed.decode().replace("\r\n", "\n"), code


def _wait_until_it_reads(pid: int) -> None:
    """Wait until a process waits for standard input, as Linux shows it."""
    state = Path(f"/proc/{pid}/syscall")
    while os.access(state, os.R_OK) and state.read_text().split()[1:2] != ["0x0"]:
        time.sleep(0.01)


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
