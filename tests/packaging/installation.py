"""An environment that turnetl is installed in, and the connections that its commands open."""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

# Every Python process of the environment imports it, worker processes included.
_AUDIT = """\
import json, os, sys

_EVENTS = {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"}
_log = os.environ.get("TEST_CONNECTIONS")

def _write(event, address):
    with open(_log, "a") as log:
        log.write(json.dumps([event, address], default=repr) + "\\n")

def _record(event, args):
    if event in _EVENTS:
        _write(event, args[:2] if event == "socket.getaddrinfo" else args[-1])

if _log:
    _write("start", sys.argv[:2])
    sys.addaudithook(_record)
"""


@dataclass(frozen=True)
class Installation:
    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "venv" / "bin" / "python"

    @property
    def site_packages(self) -> Path:
        (folder,) = (self.folder / "venv" / "lib").glob("python*/site-packages")
        return folder

    def turnetl(self, *arguments: str, cwd: Path, **environment: str) -> str:
        """Run the installed command without the user's settings; return its standard output."""
        return self._run(self.python.with_name("turnetl"), *arguments, cwd=cwd, **environment)

    def evaluate(self, code: str, *, cwd: Path) -> str:
        """Return what a piece of Python prints."""
        return self._run(self.python, "-c", code, cwd=cwd).strip()

    def _run(self, *command: str | Path, cwd: Path, **environment: str) -> str:
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(cwd), **environment}
        done = subprocess.run(
            command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


def link_dependencies(name: str, site_packages: Path) -> None:
    """Link what an installed distribution requires from the environment that runs the tests."""
    (installed,) = Distribution.discover(name=name, path=[str(site_packages)])
    for dependency in _dependencies(installed):
        assert dependency.files is not None
        for top in {file.parts[0] for file in dependency.files} - {"..", "__pycache__"}:
            link = site_packages / top
            if not link.exists():
                link.symlink_to(Path(str(dependency.locate_file(top))))


def _dependencies(root: Distribution) -> Iterator[Distribution]:
    """Yield the direct and indirect dependencies, without extras that nothing requires."""
    pending = list(_required(root, ""))
    seen: set[tuple[str, str]] = set()
    while pending:
        requirement = pending.pop()
        for extra in {"", *requirement.extras}:
            if (requirement.name, extra) not in seen:
                seen.add((requirement.name, extra))
                dependency = distribution(requirement.name)
                yield dependency
                pending += _required(dependency, extra)


def _required(dependent: Distribution, extra: str) -> Iterator[Requirement]:
    for requirement in map(Requirement, dependent.requires or ()):
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            yield requirement


def audit_connections(site_packages: Path) -> None:
    """Have every Python process record its connections in the file `TEST_CONNECTIONS` names."""
    (site_packages / "connection_audit.py").write_text(_AUDIT)
    (site_packages / "connection_audit.pth").write_text("import connection_audit\n")


def connections(log: Path) -> set[tuple[str, int]]:
    """Return host and port of the connections, and of the names that were looked up."""
    events = [json.loads(line) for line in log.read_text().splitlines()]
    # Without it the processes were not audited.
    assert events[0][0] == "start"
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
