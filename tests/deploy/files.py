"""The files of deploy/, read for the tests."""

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
FILES = sorted(path for path in DEPLOY.rglob("*") if path.is_file() and path.suffix != ".pyc")
DOCKERFILE = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
UNITS = sorted((DEPLOY / "systemd").iterdir())
COMPOSE: dict[str, Any] = YAML(typ="safe").load(DEPLOY / "compose.yaml")
KUBERNETES: list[dict[str, Any]] = list(
    YAML(typ="safe").load_all(DEPLOY / "kubernetes" / "turnetl.yaml")
)

Environment = dict[str, Any]
"""Values by the names of variables; a mapping is a reference to a value elsewhere."""


def unit(path: Path) -> list[tuple[str, str]]:
    """Return the settings of a unit, of which one may occur more than once."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if "=" in line]
    pairs = [line.partition("=") for line in lines if not line.startswith("#")]
    return [(name, value) for name, _, value in pairs]


def containers() -> Iterator[Mapping[str, Any]]:
    """Yield the containers of the Kubernetes example."""
    for document in KUBERNETES:
        spec = document.get("spec", {})
        spec = spec.get("jobTemplate", {}).get("spec", spec)
        yield from spec.get("template", {}).get("spec", {}).get("containers", [])


def environments() -> dict[str, Environment]:
    """Return the variables that each file sets for a program of turnetl or Prefect."""
    found: dict[str, Environment] = {
        path.name: dict(
            value.partition("=")[::2] for name, value in unit(path) if name == "Environment"
        )
        for path in UNITS
    }
    for name, service in COMPOSE["services"].items():
        found[f"compose {name}"] = service.get("environment", {})
    for document in KUBERNETES:
        if document["kind"] == "ConfigMap":
            found["config map"] = document["data"]
    for container in containers():
        variables = container.get("env", [])
        found[f"kubernetes {container['name']}"] = {
            one["name"]: one.get("value", one.get("valueFrom")) for one in variables
        }
    found["Dockerfile"] = dict(re.findall(r"([A-Z_]+)=(\S+)", DOCKERFILE.partition("ENV ")[2]))
    return found


def commands() -> dict[str, list[str]]:
    """Return the commands that each file starts, by a name of the place."""
    found = {
        f"{path.name}": shlex.split(value)
        for path in UNITS
        for name, value in unit(path)
        if name == "ExecStart"
    }
    for name, service in COMPOSE["services"].items():
        if command := service.get("command"):
            for number, part in enumerate(_in_shell(command)):
                found[f"compose {name} {number}"] = part
    for container in containers():
        found[f"kubernetes {container['name']}"] = container["command"]
    return found


def _in_shell(command: list[str]) -> list[list[str]]:
    if command[:2] != ["sh", "-c"]:
        return [command]
    return [shlex.split(part) for part in command[2].split("&&")]
