"""Options and groups of the test run, and fixtures: graphs (embedded and Neo4j), a canned model."""

import gc
import logging
import os
import random
import sys
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.goldens import golden_files
from tests.goldens.golden_files import GoldenFiles
from tests.scale import FULL
from tests.servers import neo4j_server, s3_server
from tests.servers.neo4j_server import Neo4jServer
from tests.servers.provider import FakeProvider, serving
from tests.servers.s3_server import S3Server
from turnetl.graph.open import open_graph
from turnetl.graph.port import GraphStore
from turnetl.llm.chat import ChatModel
from turnetl.llm.providers.registry import open_model
from turnetl.llm.retry import RetryingModel, RetryPolicy

# No deadline: a loaded machine is no reason to fail.
untimed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

COMMANDS, NEO4J, PREFECT, OWN_PREFECT = "neo4j-commands", "neo4j", "prefect", "own-prefect"
SERVERS = (COMMANDS, NEO4J, PREFECT, OWN_PREFECT)
"""The groups that need a server. In one group, the tests with Neo4j would take longest by far."""
NEO4J_FIXTURE = "neo4j_server_of_this_run"
"""A test that needs it, also through another fixture, is a Neo4j test without being marked."""

GRAPHS = ["ladybug", pytest.param("neo4j", marks=pytest.mark.neo4j)]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--full",
        action="store_true",
        help="only the tests that a run without it leaves out, and all hypothesis examples",
    )
    parser.addoption(
        "--chance",
        metavar="SEED",
        default="",
        help="draw other values and hypothesis examples than those of every run without it",
    )
    parser.addoption("--both", action="store_true", help="what runs with `--full` or without it")
    parser.addoption("--exhaustive", action="store_true", help="only what takes hours")
    parser.addoption(
        "--rewrite-upstream",
        action="store_true",
        help="with --full: store the graphs that `add_episode` makes (tests/extraction/upstream)",
    )
    parser.addoption(
        golden_files.OPTION,
        action="store_true",
        help="write the goldens instead of comparing with them (tests/goldens)",
    )


def pytest_configure(config: pytest.Config) -> None:
    is_full = config.getoption("full") or config.getoption("both")
    profile, examples = (FULL, 100) if is_full else ("default", 25)
    settings.register_profile(
        profile, untimed, max_examples=examples, derandomize=not config.getoption("chance")
    )
    settings.load_profile(profile)
    # Without bytecode, each process of the run, and each that a test starts, would compile the
    # tests and the package again.
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # noqa: TID251 - for the child processes


def pytest_collectstart(collector: pytest.Collector) -> None:
    """Seed what a test module draws when it is imported. Every process collects the same ids."""
    _seed(collector.config, collector.nodeid)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Seed what a test draws with its name: a change passes or fails in every run alike."""
    _seed(item.config, item.nodeid)


def _seed(config: pytest.Config, name: str) -> None:
    random.seed(f"{config.getoption('chance')} {name}")


@pytest.hookimpl(wrapper=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """Start one process more than there are CPUs: two of them often wait for their servers."""
    return (yield) + 1


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector from searching the tests and the modules, a million objects.

    That takes half a second each time. While they are collected there is no garbage.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if NEO4J_FIXTURE in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.neo4j)
    is_of_run = _is_of_full_run if config.getoption("full") else is_of_short_run
    if config.getoption("both"):
        is_of_run = _is_not_exhaustive
    if config.getoption("exhaustive"):
        is_of_run = is_exhaustive
    config.hook.pytest_deselected(items=[item for item in items if not is_of_run(item)])
    items[:] = filter(is_of_run, items)
    _assign_groups(items)


def is_of_short_run(item: pytest.Item) -> bool:
    """Return whether `make test` runs it: with Neo4j, only the contracts and one journey."""
    if item.get_closest_marker("full") is not None or is_exhaustive(item):
        return False
    is_of_both_stores = item.path.stem.endswith("_contract") or item.get_closest_marker("journey")
    return item.get_closest_marker("neo4j") is None or bool(is_of_both_stores)


def _is_of_full_run(item: pytest.Item) -> bool:
    """Return whether `make test-full` runs it: what `make test` leaves out, and drawn inputs."""
    function = getattr(item, "obj", None)
    is_drawn = getattr(function, "is_hypothesis_test", False)
    return (not is_of_short_run(item) or is_drawn) and not is_exhaustive(item)


def _is_not_exhaustive(item: pytest.Item) -> bool:
    return not is_exhaustive(item)


def is_exhaustive(item: pytest.Item) -> bool:
    return item.get_closest_marker("exhaustive") is not None


def _assign_groups(items: list[pytest.Item]) -> None:
    """Group the tests for `--dist loadgroup`: one group per server, one per other file.

    A group runs in one process: a server starts once per group, a module's fixtures once.
    """
    root = items[0].config.rootpath if items else Path()
    files = {path: str(path.relative_to(root)) for path in {item.path for item in items}}
    groups = {item: _group(item, files[item.path]) for item in items}
    for item, group in groups.items():
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(group))


@pytest.hookimpl(trylast=True, specname="pytest_collection_modifyitems")
def pytest_order_items(items: list[pytest.Item]) -> None:
    """Put the groups that need a server first: they are the longest, in a random order too."""
    markers = {item: item.get_closest_marker("xdist_group") for item in items}
    items.sort(key=lambda item: (one := markers[item]) is None or one.args[0] not in SERVERS)


def _group(item: pytest.Item, file: str) -> str:
    if marker := item.get_closest_marker("xdist_group"):
        return str(marker.args[0])
    if item.get_closest_marker("neo4j"):
        # `make test` has too few of them for a server of their own.
        is_command = file.startswith("tests/cli/") and not neo4j_server.IS_GIVEN
        is_command = is_command and bool(item.config.getoption("full"))
        return COMMANDS if is_command else NEO4J
    return PREFECT if item.get_closest_marker("prefect") else file


@pytest.fixture(scope="session", autouse=True)
def default_lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep the default lake of this process out of the developer's home."""
    with pytest.MonkeyPatch.context() as environment:
        data = tmp_path_factory.mktemp("data")
        environment.setenv("XDG_DATA_HOME", str(data))
        yield data / "turnetl" / "lake"


@pytest.fixture(scope="session")
def neo4j_server_of_this_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neo4jServer]:
    # The driver warns about labels that an empty graph does not have yet.
    logger = logging.getLogger("neo4j")
    level = logger.level
    logger.setLevel(logging.ERROR)
    with neo4j_server.running(tmp_path_factory.mktemp("neo4j")) as server:
        yield server
    logger.setLevel(level)


@pytest.fixture
def neo4j(neo4j_server_of_this_run: Neo4jServer) -> Iterator[Neo4jServer]:
    """A running Neo4j without data; the test's data are deleted after it."""
    yield neo4j_server_of_this_run
    neo4j_server_of_this_run.clear()


@pytest.fixture
def neo4j_url(neo4j: Neo4jServer) -> str:
    """`bolt://user:password@host:port` of an empty Neo4j."""
    return neo4j.url


@pytest.fixture(params=GRAPHS)
def graph_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty graph of either kind; that of Neo4j contains user and password."""
    if request.param == "neo4j":
        return str(request.getfixturevalue("neo4j_url"))
    return f"ladybug://{tmp_path / 'graph.lbug'}"


@pytest.fixture
async def store(graph_url: str) -> AsyncIterator[GraphStore]:
    """A prepared store of an empty graph."""
    opened = await open_graph(graph_url, user="", password="", write=True)
    await opened.prepare()
    yield opened
    await opened.close()


@pytest.fixture(scope="session")
def golden(pytestconfig: pytest.Config) -> GoldenFiles:
    """The files with what commands print."""
    return GoldenFiles(
        golden_files.FILES, rewrite=bool(pytestconfig.getoption(golden_files.OPTION))
    )


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    """A running S3 server. Every test makes buckets of its own."""
    with s3_server.running() as server:
        yield server


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    """A model provider on a local port."""
    with serving() as running:
        yield running


@pytest.fixture
async def model(provider: FakeProvider) -> AsyncIterator[ChatModel]:
    """A model of that provider; a request is sent at most twice, without a delay."""
    base = open_model("openai-compatible", model="canned", base_url=provider.base_url("openai"))
    opened = RetryingModel(base, RetryPolicy(attempts=2, first_wait=0, max_responses=2))
    yield opened
    await opened.close()
