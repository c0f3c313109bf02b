"""deploy/ is true: its commands, variables and versions exist, and no secret is in it."""

import re
from collections.abc import Iterator
from importlib.metadata import distribution, entry_points
from pathlib import Path

import pytest
from prefect.settings import Settings as PrefectSettings
from pydantic import BaseModel

from deploy.shard_job import shard_job
from tests.cli.command import run_in_process
from tests.deploy.files import (
    COMPOSE,
    DEPLOY,
    DOCKERFILE,
    FILES,
    ROOT,
    UNITS,
    commands,
    containers,
    environments,
    unit,
)
from tests.docs.test_reference import SETTINGS
from tests.packaging.installation import dependencies
from tests.prefect import documented
from tests.servers import neo4j_server
from turnetl.cli import app

COMMANDS = commands()
ENVIRONMENTS = environments()
SECRET = re.compile(r"(PASSWORD|API_KEY|AUTH|AUTH_STRING|CONNECTION_URL|TOKEN)$")
OF_TURNETL = {f"TURNETL_{name.replace('.', '__')}".upper() for name in SETTINGS} | {
    "NEO4J_PASSWORD",
    "NEO4J_USER",
}
OF_OTHERS = {"DO_NOT_TRACK", "HOME", "PATH", "UID"}
IMAGES_OF_OTHERS = ("compose neo4j", "compose postgres")
"""Services of images with variables of their own."""


def locked(lock: Path) -> dict[str, str]:
    """Return the versions of a lock by the names of the packages."""
    return dict(re.findall(r"^([a-z0-9.-]+)==([^ ]+)", lock.read_text(), flags=re.MULTILINE))


def prefect_variables(model: type[BaseModel]) -> Iterator[str]:
    """Yield the environment variables of Prefect's settings."""
    prefix = str(model.model_config.get("env_prefix", ""))
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from prefect_variables(field.annotation)
        else:
            yield f"{prefix}{name}".upper()


@pytest.mark.parametrize("lock", ["image.lock", "build.lock"])
def test_the_packages_of_the_image_have_the_versions_that_are_tested(lock: str) -> None:
    tested = locked(ROOT / "requirements.lock") | locked(ROOT / "requirements-uv.lock")
    used = locked(DEPLOY / lock)
    assert used
    assert used.items() <= tested.items(), "run `make lock`"


def test_the_image_has_every_dependency_of_flows_and_of_lakes_in_object_storage() -> None:
    required = dependencies(distribution("turnetl"), "prefect", "objects")
    names = {re.sub(r"[._]", "-", one.name).lower() for one in required}
    assert names
    assert names <= locked(DEPLOY / "image.lock").keys(), "run `make lock`"


def test_the_dockerfile_installs_nothing_without_a_hash_and_runs_as_no_root() -> None:
    installs = re.findall(r"pip install (.*?)(?=&&|\n[A-Z]|\Z)", DOCKERFILE, flags=re.DOTALL)
    assert len(installs) == 3
    for install in installs:
        assert "--require-hashes" in install or ("--no-deps" in install and "/dist/" in install)
    [user] = re.findall(r"^USER (.+)$", DOCKERFILE, flags=re.MULTILINE)
    assert user == "${UID}"


def test_what_the_dockerfile_copies_exists_and_is_sent_to_the_build() -> None:
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
    sent = {line[1:] for line in ignored if line.startswith("!")}
    copies = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, flags=re.MULTILINE)
    copied = {name for line in copies for name in line.split()}
    assert {name for name in copied if not (ROOT / name).exists()} == set()
    assert {re.sub(r"deploy/\w+\.lock", "deploy/*.lock", name) for name in copied} == sent


@pytest.mark.parametrize("place", COMMANDS)
def test_a_command_is_a_program_of_the_image_and_takes_its_arguments(place: str) -> None:
    program, *arguments = COMMANDS[place]
    name = Path(program).name
    assert name in {one.name for one in entry_points(group="console_scripts")}
    if name == "turnetl":
        app.parse_args(arguments, exit_on_error=False, print_error=False)
    else:
        documented_commands = (documented.SERVER, documented.DEPLOY, documented.WORKER)
        assert any([name, *arguments][: len(one)] == one for one in documented_commands)


def test_a_shard_runs_in_a_job_with_the_access_of_the_worker() -> None:
    (shard,) = shard_job()["spec"]["template"]["spec"]["containers"]
    worker = next(one for one in containers() if one["name"] == "worker")
    same = ("image", "envFrom", "env", "resources", "securityContext", "volumeMounts")
    assert {key: shard[key] for key in same} == {key: worker[key] for key in same}
    assert "{{" not in str(shard_job())


def test_a_variable_is_a_setting(subtests: pytest.Subtests) -> None:
    for place in ENVIRONMENTS:
        with subtests.test(place=place):
            known = {*OF_TURNETL, *OF_OTHERS, *prefect_variables(PrefectSettings)}
            if place not in IMAGES_OF_OTHERS:
                assert ENVIRONMENTS[place].keys() - known == set()


def test_a_secret_comes_from_elsewhere(subtests: pytest.Subtests) -> None:
    for place in ENVIRONMENTS:
        with subtests.test(place=place):
            for name, value in ENVIRONMENTS[place].items():
                if SECRET.search(name):
                    assert isinstance(value, dict) or "${" in value, name


def test_no_url_holds_a_password(subtests: pytest.Subtests) -> None:
    for path in FILES:
        with subtests.test(path=path):
            assert re.findall(r"://[^/\s]*:[^/\s$]+@", path.read_text(encoding="utf-8")) == []


def test_ports_are_published_on_this_machine_only() -> None:
    published = [port for one in COMPOSE["services"].values() for port in one.get("ports", [])]
    assert published
    assert [port for port in published if not port.startswith("127.0.0.1:")] == []


def test_the_versions_are_those_of_the_project_and_its_tests() -> None:
    version = distribution("turnetl").version
    images = {str(container["image"]).rpartition(":")[2] for container in containers()}
    assert images == {version}
    assert COMPOSE["services"]["neo4j"]["image"] == neo4j_server.IMAGE


def test_a_worker_loads_the_settings_of_the_compose_file(tmp_path: Path) -> None:
    environment = {
        name: re.sub(r"\$\{\w+:-(.*)\}", r"\1", re.sub(r"\$\{\w+:\?.*\}", "given", value))
        for name, value in ENVIRONMENTS["compose worker"].items()
    }
    done = run_in_process("config", "show", "--json", folder=tmp_path, **environment)
    assert done.exit_code == 0, done.stderr
    values = {one["name"]: one["value"] for one in done.json["settings"]}
    assert values["graph"] == environment["TURNETL_GRAPH"]
    assert values["allow_unencrypted"] is True


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_a_unit_stops_later_than_a_run_waits_for_its_responses(path: Path) -> None:
    settings = dict(unit(path))
    if "ExecStart" in settings and "server" not in path.name:
        assert int(settings["TimeoutStopSec"]) > 30
