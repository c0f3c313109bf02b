"""`turnetl serve` as a user starts it: a process that is stopped by a signal."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.cli.command import CommandResult, clean_environment, command_line


@dataclass(frozen=True)
class ServingProcess:
    """A process that accepts connections."""

    process: subprocess.Popen[str]
    arguments: tuple[str, ...]
    first_line: str
    """Of its standard output."""

    @property
    def url(self) -> str:
        """The address that lets a browser in."""
        return self.first_line.strip()

    def stop(self, number: signal.Signals = signal.SIGINT) -> CommandResult:
        """Send a signal, and return how the process ended."""
        self.process.send_signal(number)
        stdout, stderr = self.process.communicate(timeout=30)
        code = self.process.returncode
        return CommandResult(self.arguments, code, self.first_line + stdout, stderr)


@contextmanager
def serving_process(*arguments: str, folder: Path) -> Iterator[ServingProcess]:
    """Run `turnetl serve` on a free port until the end of the block; wait until it listens."""
    line = ("serve", "--port", "0", *arguments)
    process = subprocess.Popen(
        command_line(*line),
        cwd=folder,
        env=clean_environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield ServingProcess(process, line, process.stdout.readline())
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


@contextmanager
def entered(url: str) -> Iterator[httpx.Client]:
    """Open the printed address; the base of the client is the folder of the pages."""
    with httpx.Client(follow_redirects=True, timeout=30) as client:
        page = client.get(url)
        assert page.status_code in (200, 503), page.text
        client.base_url = page.url
        yield client
