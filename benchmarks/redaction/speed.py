"""The speed of parsing with redaction, compared with another checkout in one run.

Both parse the same archives in turns, each in a process of its own, so that another load of the
machine hits both. The ratio is the median over the rounds.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from benchmarks.cost import at_least

MIN_SHARE = 0.9
"""Speed of this checkout as a share of the other one's."""
_CHECKOUT = Path(__file__).resolve().parents[2]
_PARSE = """
import sys, tempfile, time
from pathlib import Path
from turnetl import parsing
from turnetl.lake import Lake
from turnetl.redact import SecretRedactor

redactor = SecretRedactor()
for line in sys.stdin:
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        archives = parsing.expand([Path(line.strip())]).archives
        parsing.parse_archives(archives, Lake(Path(folder, "lake")), redactor=redactor)
        print(time.process_time() - start, flush=True)
"""


def compare(folder: Path, against: Path, rounds: int) -> bool:
    """Print the speeds and their ratio; return whether this checkout is fast enough.

    Args:
        folder: the archives to parse.
        against: root of the other checkout.
        rounds: of both checkouts; one more warms them up.
    """
    with _parser(_CHECKOUT) as here, _parser(against.resolve()) as there:
        pairs = [(_seconds(here, folder), _seconds(there, folder)) for _ in range(rounds + 1)][1:]
    for name, seconds in zip(
        ("this checkout", str(against)), zip(*pairs, strict=True), strict=True
    ):
        print(f"  {median(seconds):8.3f} s CPU, median of {rounds}: {name}")
    ratios = [other / own for own, other in pairs]
    print(f"  {min(ratios):8.2f} to {max(ratios):.2f} in single rounds")
    return at_least("of the other checkout's speed", median(ratios), MIN_SHARE)


@contextmanager
def _parser(checkout: Path) -> Iterator["subprocess.Popen[str]"]:
    """Start a process that parses with the code of a checkout whenever it reads a folder."""
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(checkout)!r})\n{_PARSE}"]
    with subprocess.Popen(
        command, cwd=checkout, env={}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.stdin and process.stdin.close()


def _seconds(process: "subprocess.Popen[str]", folder: Path) -> float:
    """Return the CPU-seconds of one parse of a folder."""
    if process.stdin is None or process.stdout is None:
        raise ValueError("the process has no pipes")
    print(folder.resolve(), file=process.stdin, flush=True)
    line = process.stdout.readline()
    if not line:
        raise ChildProcessError("a checkout failed to parse; its error is above")
    return float(line)
