"""Wall time of parsing archives from a bucket, against a folder of this machine.

    python -m benchmarks.object_archives [--archives 1000] [--delay 20]

The lake is in a folder both times. Archives, S3 server and delay are those of
`benchmarks.object_lake`.
"""

import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from benchmarks.object_lake import delayed_store, measure, parsed_arguments, write_archives
from tests.servers import s3_server

_SHARE = 10
"""One archive of as many is changed between the runs."""


def main() -> None:
    arguments = parsed_arguments(__doc__)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        archives = folder / "archives"
        write_archives(archives, arguments.archives)
        server, environment = stack.enter_context(delayed_store(arguments.delay))
        bucket = server.new_bucket()
        upload(server, bucket, list(archives.iterdir()))
        places: Mapping[str, tuple[str, Mapping[str, str]]] = {
            "folder": (str(archives), {}),
            "bucket": (f"s3://{bucket}/x", environment),
        }
        seconds = {
            name: first_runs(folder, name, given, of_place)
            for name, (given, of_place) in places.items()
        }
        changed = sorted(archives.iterdir())[::_SHARE]
        for path in changed:
            path.write_bytes(path.read_bytes() + b"\n")
        upload(server, bucket, changed)
        for name, (given, of_place) in places.items():
            seconds[name] |= last_run(folder, name, given, of_place)
    print(f"{arguments.archives:,} archives, {arguments.delay} ms before each answer")
    for run, in_folder in seconds["folder"].items():
        print(
            f"{run:40} {in_folder:6.1f} s in a folder, {seconds['bucket'][run]:6.1f} s in a bucket"
        )


def upload(server: s3_server.S3Server, bucket: str, paths: list[Path]) -> None:
    objects = server.objects(bucket)
    for path in paths:
        objects.put(f"x/{path.name}", path.read_bytes())


def first_runs(
    folder: Path, name: str, archives: str, environment: Mapping[str, str]
) -> dict[str, float]:
    command = ("parse", archives)
    runs = {"parse": command, "parse, nothing is new": command}
    return measure(folder, name, str(folder / f"lake-{name}"), runs, environment)


def last_run(
    folder: Path, name: str, archives: str, environment: Mapping[str, str]
) -> dict[str, float]:
    runs = {"parse, a tenth is changed": ("parse", archives)}
    return measure(folder, f"{name} again", str(folder / f"lake-{name}"), runs, environment)


if __name__ == "__main__":
    main()
