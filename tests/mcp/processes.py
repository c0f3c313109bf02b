"""The server as a process, as an agent starts it, and its protocol line by line."""

import gc
import json
import re
import select
import signal
import subprocess
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.cli.command import clean_environment, command_line

INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "lines", "version": "1"},
}
_SERVING = re.compile(r"serving MCP on (http://127\.0\.0\.1:\d+/mcp)")
_SECONDS = 60
"""For which a message is waited for, on a busy machine."""
_TOKEN = "Authorization: Bearer (\\S+)`"


class LineClient:
    """A process that serves standard input and output."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def send(self, line: bytes) -> None:
        assert self.process.stdin is not None
        data = memoryview(line + b"\n")
        while data:
            data = data[self.process.stdin.write(data) :]

    def request(self, number: int, method: str, **params: Any) -> None:
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        self.send(json.dumps(message).encode())

    def call(self, number: int, tool: str, **arguments: Any) -> None:
        self.request(number, "tools/call", name=tool, arguments=arguments)

    def notify(self, method: str, **params: Any) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        self.send(json.dumps(message).encode())

    def receive(self) -> dict[str, Any]:
        """Return the next message; standard output has nothing else."""
        stdout = self.process.stdout
        assert stdout is not None
        # Unbuffered, so that nothing is left of a line that was read before.
        readable, _, _ = select.select([stdout], [], [], _SECONDS)
        assert readable, "the server sent no message"
        message = json.loads(stdout.readline())
        assert message["jsonrpc"] == "2.0"
        return dict(message)

    def initialize(self) -> None:
        self.request(0, "initialize", **INITIALIZE)
        assert self.receive()["result"]["serverInfo"]["name"] == "turnetl"
        self.notify("notifications/initialized")

    def end(self) -> tuple[int, str]:
        """Wait for the end of the process; return its exit code and its messages."""
        stdout, stderr = self.process.communicate(timeout=_SECONDS)
        assert stdout == b""
        return self.process.returncode, stderr.decode()


@contextmanager
def stdio_server(folder: Path, *arguments: str) -> Iterator[LineClient]:
    """Start a server of the graph in a folder, and initialize it; kill it if it still runs."""
    process = subprocess.Popen(
        command_line("mcp", *arguments),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        cwd=folder,
        env=clean_environment(folder),
    )
    with process:
        try:
            client = LineClient(process)
            client.initialize()
            yield client
        finally:
            process.kill()


@contextmanager
def open_streams_ignored() -> Iterator[None]:
    """Ignore the streams that a client of others leaves open, and collect them here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        yield
        gc.collect()


@contextmanager
def http_server(folder: Path, **environment: str) -> Iterator[tuple[str, str]]:
    """Start a server over HTTP on a free port; yield its URL and its token. It must end cleanly."""
    process = subprocess.Popen(
        command_line("mcp", "--http", "--port", "0"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=clean_environment(folder) | environment,
    )
    with process:
        try:
            assert process.stderr is not None
            url = _SERVING.search(process.stderr.readline())
            token = re.search(_TOKEN, process.stderr.readline())
            assert url is not None
            yield url[1], token[1] if token else ""
            process.send_signal(signal.SIGTERM)
            stdout, stderr = process.communicate(timeout=_SECONDS)
            assert (process.returncode, stdout) == (0, ""), stderr
            assert "Traceback" not in stderr
        finally:
            process.kill()
