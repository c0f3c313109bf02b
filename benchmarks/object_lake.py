"""Wall time of parse, filter and status with a lake in a bucket, against a folder of this machine.

    python -m benchmarks.object_lake [--archives 1000] [--delay 20]

The archives are the samples with other ids, in 20 groups. The S3 server (moto) runs beside the
measured process and takes its share of the cores; a relay before it delays each answer, as a
network does. `second machine` has the same lake and no copies of objects yet. Last come the
times in which one response of a model is looked up and written, as the median of 100.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from benchmarks.delayed_server import delayed
from tests.servers import s3_server
from tests.servers.s3_server import S3Server
from turnetl.base.object_url import object_url
from turnetl.lake.object_files import ObjectFiles
from turnetl.lake.shared_responses import ResponseFiles

GROUPS = 20
SAMPLES = Path(__file__).parents[1] / "data" / "archives" / "bookshop"
COMMANDS = {
    "parse": ("parse", "archives"),
    "parse, nothing is new": ("parse", "archives"),
    "filter": ("filter",),
    "filter, nothing is new": ("filter",),
    "status": ("status",),
}
ON_SECOND_MACHINE = {
    "second machine: parse, nothing is new": ("parse", "archives"),
    "second machine: status": ("status",),
}
_ID = re.compile(r"\b[0-9a-f]{8}(?=-[0-9a-f]{4}-)")


def main() -> None:
    arguments = parsed_arguments(__doc__)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        write_archives(folder / "archives", arguments.archives)
        local = measure(folder, "local", str(folder / "lake"), COMMANDS, {})
        server, environment = stack.enter_context(delayed_store(arguments.delay))
        lake = f"s3://{server.new_bucket()}/lake"
        remote = measure(folder, "first", lake, COMMANDS, environment)
        second = measure(folder, "second", lake, ON_SECOND_MACHINE, environment)
        os.environ.update(environment)  # noqa: TID251 - the server of this process
        shared = response_milliseconds(lake, folder / "copies")
    print(f"{arguments.archives:,} archives, {arguments.delay} ms before each answer")
    for name, seconds in remote.items():
        print(f"{name:40} {local[name]:6.1f} s in a folder, {seconds:6.1f} s in a bucket")
    for name, seconds in second.items():
        print(f"{name:40} {'':6}                {seconds:6.1f} s in a bucket")
    print("a shared response: looked up in {:.0f} ms, written in {:.0f} ms".format(*shared))


def response_milliseconds(lake: str, copies: Path) -> tuple[float, float]:
    """Return the median time in which a missing response is looked up, and one is written."""
    url = object_url(lake)
    assert url is not None
    responses = ResponseFiles(ObjectFiles(url, copies, allow_http=True))
    keys = [f"{number:032x}" for number in range(100)]
    looked_up = [seconds_of(partial(responses.read, key)) for key in keys]
    written = [seconds_of(partial(responses.write, key, b"x" * 2000)) for key in keys]
    return 1000 * statistics.median(looked_up), 1000 * statistics.median(written)


def seconds_of(function: Callable[[], object]) -> float:
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


def parsed_arguments(description: str | None) -> argparse.Namespace:
    """Return the arguments of a benchmark of an object store."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--archives", type=int, default=1000)
    parser.add_argument("--delay", type=int, default=20, help="milliseconds of each answer")
    return parser.parse_args()


@contextmanager
def delayed_store(milliseconds: int) -> Iterator[tuple[S3Server, dict[str, str]]]:
    """Start an S3 server whose answers are delayed; yield it, and the variables of a client."""
    with s3_server.running() as server, delayed(server.port, milliseconds / 1000) as port:
        yield server, server.environment | {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"}


def write_archives(folder: Path, number: int) -> None:
    samples = sorted(SAMPLES.glob("*.jsonl"))
    folder.mkdir()
    for copy in range(number):
        text = samples[copy % len(samples)].read_text(encoding="utf-8")
        text = _ID.sub(lambda match: f"{(int(match[0], 16) + copy) % 2**32:08x}", text)  # noqa: B023
        text = text.replace("/bookshop", f"/bookshop{copy % GROUPS}")
        (folder / f"{copy:06}.jsonl").write_text(text, encoding="utf-8")


def measure(
    folder: Path,
    machine: str,
    lake: str,
    commands: Mapping[str, tuple[str, ...]],
    environment: Mapping[str, str],
) -> dict[str, float]:
    """Return the seconds of each command on a machine with a cache of its own."""
    home = folder / machine
    (home / "cache").mkdir(parents=True)
    # The secret scanner compiles its rules for seconds if it finds no cache of them.
    (home / "cache" / "kingfisher").symlink_to(Path.home() / ".cache" / "kingfisher")
    own = {"XDG_CACHE_HOME": str(home / "cache"), "XDG_DATA_HOME": str(home)}
    seconds = {}
    for name, command in commands.items():
        started = time.perf_counter()
        result = subprocess.run(
            [sys.executable, "-m", "turnetl", *command, "--lake", lake, "--json"],
            cwd=folder,
            env=os.environ | environment | own,  # noqa: TID251 - for a child
            capture_output=True,
            check=False,
            text=True,
        )
        seconds[name] = time.perf_counter() - started
        if result.returncode:
            sys.exit(f"{command}: {result.stderr}")
    return seconds


if __name__ == "__main__":
    main()
