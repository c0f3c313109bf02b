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

WITH_HANDSHAKE, STATELESS = VERSIONS = ("2025-11-25", "2026-07-28")
"""The newest version of the protocol that begins with `initialize`, and the one without it."""
INITIALIZE = {
    "protocolVersion": WITH_HANDSHAKE,
    "capabilities": {},
    "clientInfo": {"name": "lines", "version": "1"},
}
_ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": STATELESS,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": INITIALIZE["clientInfo"],
}
_SERVING = re.compile(r"serving MCP on (http://127\.0\.0\.1:\d+/mcp)")
_SECONDS = 60
"""For which a message is waited for, on a busy machine."""
_TOKEN = "Authorization: Bearer (\\S+)`"


def request_of(version: str, id_: int, method: str, params: object) -> dict[str, Any]:
    """Return a request as a client of this version of the protocol sends it."""
    if version == STATELESS and isinstance(params, dict):
        params = params | {"_meta": _ENVELOPE}
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


def headers_of(version: str, method: str, name: str | None = None) -> dict[str, str]:
    """Return the headers of this version for a request over HTTP."""
    if version != STATELESS:
        return {"MCP-Protocol-Version": version}
    named = {} if name is None else {"Mcp-Name": name}
    return {"MCP-Protocol-Version": version, "Mcp-Method": method, **named}


class LineClient:
    """A process that serves standard input and output, for a client of a version."""

    def __init__(self, process: subprocess.Popen[bytes], version: str) -> None:
        self.process = process
        self.version = version

    def send(self, line: bytes) -> None:
        assert self.process.stdin is not None
        data = memoryview(line + b"\n")
        while data:
            data = data[self.process.stdin.write(data) :]

    def request(self, number: int, method: str, **params: Any) -> None:
        self.send(json.dumps(request_of(self.version, number, method, params)).encode())

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

    def open(self) -> None:
        """Send the first request of the version; the server must serve the version."""
        if self.version == STATELESS:
            self.request(0, "server/discover")
            assert STATELESS in self.receive()["result"]["supportedVersions"]
            return
        self.request(0, "initialize", **INITIALIZE)
        result = self.receive()["result"]
        assert (result["serverInfo"]["name"], result["protocolVersion"]) == (
            "turnetl",
            self.version,
        )
        self.notify("notifications/initialized")

    def end(self) -> tuple[int, str]:
        """Wait for the end of the process; return its exit code and its messages."""
        stdout, stderr = self.process.communicate(timeout=_SECONDS)
        assert stdout == b""
        return self.process.returncode, stderr.decode()


@contextmanager
def stdio_server(folder: Path, version: str = WITH_HANDSHAKE) -> Iterator[LineClient]:
    """Start a server of the graph in a folder, and open it; kill it if it still runs."""
    process = subprocess.Popen(
        command_line("mcp"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        cwd=folder,
        env=clean_environment(folder),
    )
    with process:
        try:
            client = LineClient(process, version)
            client.open()
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
