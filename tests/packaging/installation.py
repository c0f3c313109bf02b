"""An environment that turnetl is installed in, with links to its dependencies."""

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

from tests.packaging import no_network


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

    def turnetl_without_network(self, *arguments: str, cwd: Path) -> tuple[str, int]:
        """Return the standard output of the command, and how many packets it tried to send."""
        command = self.python.with_name("turnetl")
        done, sent = no_network.run(command, *arguments, cwd=cwd, environment=_environment(cwd))
        assert done.returncode == 0, done.stderr
        return done.stdout, sent

    def _run(self, *command: str | Path, cwd: Path, **environment: str) -> str:
        done = subprocess.run(
            command,
            cwd=cwd,
            env=_environment(cwd) | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


def _environment(home: Path) -> dict[str, str]:
    # The secret scanner compiles its rules for seconds if it finds no cache of them.
    cache = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))  # noqa: TID251 - for a child
    return {"PATH": os.defpath, "HOME": str(home), "XDG_CACHE_HOME": cache}


def link_dependencies(name: str, site_packages: Path) -> None:
    """Link what an installed distribution requires from the environment that runs the tests."""
    (installed,) = Distribution.discover(name=name, path=[str(site_packages)])
    for dependency in dependencies(installed):
        assert dependency.files is not None
        for top in {file.parts[0] for file in dependency.files} - {"..", "__pycache__"}:
            link = site_packages / top
            if not link.exists():
                link.symlink_to(Path(str(dependency.locate_file(top))))


def dependencies(root: Distribution, *extras: str) -> Iterator[Distribution]:
    """Yield the direct and indirect dependencies, without other extras that nothing requires."""
    pending = [one for extra in ("", *extras) for one in _required(root, extra)]
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
