"""The connections that Python processes open, recorded by an audit hook in each of them.

Connections of native code are not seen.
"""

import json
from pathlib import Path

LOG = "TEST_CONNECTIONS"
"""The environment variable that names the file for the records; without it nothing is recorded."""

_AUDIT = """\
import json, os, sys

_EVENTS = {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"}
_log = os.environ.get("TEST_CONNECTIONS")

def _write(event, address):
    with open(_log, "a") as log:
        log.write(json.dumps([event, address], default=bytes.decode) + "\\n")

def _record(event, args):
    if event in _EVENTS:
        _write(event, args[:2] if event == "socket.getaddrinfo" else args[-1])

if _log:
    _write("start", sys.argv[:2])
    sys.addaudithook(_record)
"""


def install_in_environment(site_packages: Path) -> None:
    """Audit every Python process of a virtual environment, worker processes included."""
    (site_packages / "connection_audit.py").write_text(_AUDIT)
    (site_packages / "connection_audit.pth").write_text("import connection_audit\n")


def install_on_path(folder: Path) -> None:
    """Audit every Python process whose PYTHONPATH begins with the folder."""
    (folder / "sitecustomize.py").write_text(_AUDIT)


def connections(log: Path) -> set[tuple[str, int]]:
    """Return host and port of the connections, and of the names that were looked up."""
    events = [json.loads(line) for line in log.read_text().splitlines()]
    assert events[0][0] == "start", "no process was audited"
    return {_host_and_port(address) for event, address in events if event != "start"}


def _host_and_port(address: object) -> tuple[str, int]:
    match address:
        case [str(host), int(port), *_]:
            return host, port
        case [str(host), *_]:
            return host, 0
        case _:
            # The path of a local socket.
            return str(address), 0
