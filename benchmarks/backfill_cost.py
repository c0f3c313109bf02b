"""CPU and memory of `turnetl backfill` as a process: of many turns, and of one more turn.

    python -m benchmarks.backfill_cost [--copies 6 22] [--mb 89 581] [--archives FOLDER]
        [--stages] [--sets FOLDER] [--turnetl COMMAND ...]

A set is so many copies of the archives, each with own sessions and names of files, in one group,
and lines of progress (which are counted, and give no turns) up to a size in MB. The command runs
with its defaults into an empty lake, then again with an archive of one more turn in the same group.
CPU seconds are those of all processes, user and system. Memory is the peak of the sum over all
processes, where what several share counts once (PSS on Linux, sampled), and that of the largest.
`--stages` runs parse, filter and ingest one by one. `--sets` keeps the sets for the next run, and
`--turnetl` names the command of another checkout: run both in turns to compare them.
"""

import argparse
import json
import os
import re
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen

import psutil  # type: ignore[import-untyped]  # has no annotations

from benchmarks.cost import at_most
from tests import real_archives

PROJECT = real_archives.ARCHIVES / "entireio__cli"
LIMITS = {89: (8.0, 350.0), 581: (35.0, 450.0)}
"""CPU seconds and MB of memory of a set of so many MB."""
MORE_LIMIT = (0.8, 250.0)
"""Of one more turn."""
SAMPLE_SECONDS = 0.05
_LAUNCHER = """
import os, resource, subprocess, sys
code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(code, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""
_ID = re.compile(rb"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_CWD = re.compile(rb'"cwd":"([^"]+)"')
_FILE = re.compile(rb"\b([A-Za-z_]{3,40})\.(go|md|sh|py|ts|js|rs)\b")


@dataclass(frozen=True)
class ProcessCost:
    """What a command and all its processes took."""

    cpu: float
    """Seconds."""
    together: float
    """MB, peak of the sum over all processes."""
    largest: float
    """MB, peak of one process."""

    def __str__(self) -> str:
        return f"{self.cpu:6.2f} CPU-s {self.together:6.0f} MB ({self.largest:.0f} MB the largest)"


def run(command: Sequence[str], cwd: Path) -> ProcessCost:
    """Run a command to its end.

    Raises:
        RuntimeError: it did not exit with 0.
    """
    # A process's peak includes that of the process that started it: a small one starts it.
    launched = [sys.executable, "-I", "-S", "-c", _LAUNCHER, *command]
    with Popen(launched, cwd=cwd, stdout=PIPE, stderr=DEVNULL, text=True) as process:
        peaks: list[float] = [0.0]
        done = threading.Event()
        sampler = threading.Thread(target=_sample, args=(process.pid, peaks, done))
        sampler.start()
        printed, _ = process.communicate()
        done.set()
        sampler.join()
    exit_code, cpu, largest = map(float, printed.split())
    if exit_code:
        raise RuntimeError(f"{' '.join(command)} exited with {exit_code:g}")
    # Of this process and the children that it waited for.
    scale = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return ProcessCost(cpu, max(peaks[0], largest / scale), largest / scale)


def _sample(pid: int, peaks: list[float], done: threading.Event) -> None:
    while not done.wait(SAMPLE_SECONDS):
        try:
            process = psutil.Process(pid)
            every = process.children(recursive=True)
        except psutil.Error:
            return
        peaks[0] = max(peaks[0], sum(map(_megabytes, every)))


def _megabytes(process: psutil.Process) -> float:
    try:
        memory = process.memory_full_info()
    except psutil.Error:  # it ended
        return 0.0
    return float(getattr(memory, "pss", memory.rss)) / (1 << 20)


def write_copy(archives: Sequence[Path], to: Path, number: int, padding: float) -> None:
    """Write a copy of the archives with other ids and names, and a share of progress lines."""

    def other_id(match: re.Match[bytes]) -> bytes:
        new = blake2b(match[0], digest_size=16, salt=b"%d" % number).hexdigest()
        return "-".join((new[:8], new[8:12], new[12:16], new[16:20], new[20:])).encode()

    for at, path in enumerate(archives):
        lines = _FILE.sub(rb"\1_%d.\2" % number, _ID.sub(other_id, path.read_bytes()))
        to.mkdir(parents=True, exist_ok=True)
        with (to / f"{number:03}-{at:03}.jsonl").open("wb") as file:
            for line in lines.splitlines(keepends=True):
                file.write(line)
                file.writelines(_progress(line, padding))


def _progress(line: bytes, padding: float) -> Iterator[bytes]:
    """Yield lines as Claude Code writes them of a subagent, about `padding` times as long."""
    left = int(len(line) * padding)
    while left > 0:
        text = line.decode(errors="replace")[:left]
        yield json.dumps({"type": "progress", "data": {"message": text}}).encode() + b"\n"
        left -= len(text) or left


def write_set(archives: Sequence[Path], to: Path, copies: int, megabytes: float) -> None:
    size = sum(path.stat().st_size for path in archives) * copies / 1e6
    # The quotation marks of a line of JSON in a line of JSON take about a tenth more.
    padding = max(0.0, megabytes / size - 1) / 1.1
    for number in range(copies):
        write_copy(archives, to, number, padding)


def one_more_turn(archives: Path, folder: Path) -> Path:
    """Write an archive of one turn in the project of these archives: a prompt, a test, a reply."""
    cwd = next(
        found[1].decode()
        for path in sorted(archives.iterdir())
        if (found := _CWD.search(path.read_bytes()))
    )
    run = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "go test ./..."}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}
    messages = [
        ("user", "Do the tests pass with Go 1.25? We stay on 1.24 if not."),
        ("assistant", [run]),
        ("user", [result]),
        ("assistant", [{"type": "text", "text": "All tests pass with Go 1.25."}]),
    ]
    rows = [
        {
            "type": role,
            "message": {"role": role, "content": content},
            "uuid": f"more-{number}",
            "parentUuid": f"more-{number - 1}" if number else None,
            "sessionId": "more",
            "cwd": cwd,
            "timestamp": f"2026-03-01T10:00:0{number}.000Z",
        }
        for number, (role, content) in enumerate(messages)
    ]
    path = folder / "more.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def measure(turnetl: Sequence[str], folder: Path, archives: Path, *, stages: bool) -> ProcessCost:
    lake = ["--lake", str(folder / "lake")]
    commands = {"backfill": ["backfill", str(archives)]}
    if stages:
        commands = {"parse": ["parse", str(archives)], "filter": ["filter"], "ingest": ["ingest"]}
    for name, command in commands.items():
        cost = run([*turnetl, *command, *lake], folder)
        print(f"    {name:10} {cost}", flush=True)
    return cost


def main(arguments: argparse.Namespace, folder: Path) -> bool:
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # noqa: TID251 - for the child processes
    turnetl = arguments.turnetl or [str(Path(sys.executable).with_name("turnetl"))]
    files = arguments.archives.rglob("*.jsonl")
    archives = sorted(files, key=lambda path: (path.stat().st_size, path))
    passed = []
    for copies, megabytes in zip(arguments.copies, arguments.mb, strict=True):
        one = (arguments.sets or folder) / f"set-{megabytes}-{copies}"
        if not one.exists():
            write_set(archives, one, copies, megabytes)
        size = sum(path.stat().st_size for path in one.iterdir()) / 1e6
        print(f"  {size:.0f} MB in {copies} copies")
        with tempfile.TemporaryDirectory(dir=folder) as work:
            turn = one_more_turn(one, Path(work))
            # An installed package has its bytecode; a checkout gets it when it runs.
            run([*turnetl, "backfill", str(turn), "--lake", "first"], Path(work))
            cost = measure(turnetl, Path(work), one, stages=arguments.stages)
            more = measure(turnetl, Path(work), turn, stages=False)
        limits = [(cost, LIMITS.get(megabytes)), (more, MORE_LIMIT)]
        for taken, limit in limits:
            if limit and not (arguments.stages and taken is cost):
                passed.append(at_most("CPU seconds", taken.cpu, limit[0]))
                passed.append(at_most("MB of memory", taken.together, limit[1]))
    return all(passed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    default = PROJECT if real_archives.AVAILABLE else real_archives.SAMPLES
    parser.add_argument("--archives", type=Path, default=default)
    parser.add_argument("--copies", type=int, nargs="+", default=[6, 22])
    parser.add_argument("--mb", type=int, nargs="+", default=[89, 581])
    parser.add_argument("--sets", type=Path)
    parser.add_argument("--stages", action="store_true")
    parser.add_argument("--turnetl", nargs=argparse.REMAINDER, help="the last option")
    with tempfile.TemporaryDirectory() as temporary:
        sys.exit(not main(parser.parse_args(), Path(temporary)))
