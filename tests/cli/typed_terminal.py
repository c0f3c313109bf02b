"""The command on a terminal at which somebody answers its question."""

import os
import pty
import select
import signal
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.cli.command import clean_environment, command_line

_LIMIT_S = 60


def interrupted(*arguments: str, folder: Path, at: str) -> tuple[str, int]:
    """Press Ctrl-C when it asks with this text; return all that is printed, and the exit code.

    A process that does not react within a minute is killed.
    """
    with _in_terminal(arguments, folder, {}) as (process, terminal):
        printed = b""
        for chunk in _printed(process, terminal):
            printed += chunk
            if at.encode() in chunk:
                _wait_until_it_reads(process.pid)
                process.send_signal(signal.SIGINT)
        code = process.wait(timeout=_LIMIT_S)
    return printed.decode().replace("\r\n", "\n"), code


def answered(*arguments: str, folder: Path, typed: str, **environment: str) -> tuple[str, int]:
    """Run the command in a terminal of 80 columns; return all that it prints, and its exit code.

    A process that prints nothing for a minute is killed.
    """
    with _in_terminal(arguments, folder, environment) as (process, terminal):
        os.write(terminal, typed.encode())
        printed = b"".join(_printed(process, terminal))
        code = process.wait(timeout=_LIMIT_S)
    return printed.decode().replace("\r\n", "\n"), code


@contextmanager
def _in_terminal(
    arguments: tuple[str, ...], folder: Path, environment: dict[str, str]
) -> Generator[tuple[subprocess.Popen[bytes], int]]:
    """Start the command; it has no pager, which would wait for a key after a long text."""
    terminal, child = pty.openpty()
    usual = {"TERM": "dumb", "COLUMNS": "80", "PAGER": ""}
    with subprocess.Popen(
        command_line(*arguments),
        cwd=folder,
        env=clean_environment(folder) | usual | environment,
        stdin=child,
        stdout=child,
        stderr=child,
        process_group=0,
    ) as process:
        os.close(child)
        yield process, terminal
    os.close(terminal)


def _printed(process: subprocess.Popen[bytes], terminal: int) -> Generator[bytes]:
    """Yield what it prints, up to its end; kill it if nothing comes within the limit."""
    try:
        while select.select([terminal], [], [], _LIMIT_S)[0]:
            yield os.read(terminal, 4_096)
        process.kill()
    except OSError:  # how Linux reports the end of a terminal
        pass


def _wait_until_it_reads(pid: int) -> None:
    """Wait until a process waits for standard input, as Linux shows it."""
    state = Path(f"/proc/{pid}/syscall")
    while os.access(state, os.R_OK) and state.read_text().split()[1:2] != ["0x0"]:
        time.sleep(0.01)
