"""How fast archives become turn tables: megabytes per second of CPU, of all threads together.

Three ways through the same archives: a plain loop of `json.loads` that counts rows, prompts and
tool calls and writes nothing; parse into Parquet without redaction; parse with it. Best of three.

    python -m benchmarks.parse [ARCHIVES...]

Default archives: those of tests/real.py.
"""

import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from tests import real
from turnetl import formats, parse
from turnetl.lake import Lake
from turnetl.redact import Redactor

ROUNDS = 3


class Plain:
    """Cuts nothing."""

    version = "1"

    def redact(self, texts: list[str]) -> tuple[list[str], list[int]]:
        return texts, [0] * len(texts)


def main(given: Sequence[str] = ()) -> None:
    paths = known(parse.expand(given or [real.ARCHIVES_OR_SAMPLES]).archives)
    size = sum(path.stat().st_size for path in paths)
    print(f"parse: {len(paths)} archives that turnetl knows, {size / 1e6:.1f} MB")
    if not paths:
        return
    redactor = Redactor()
    show("json.loads, counting only", size, lambda: count(paths))
    show("formats.read, no table", size, lambda: read(paths))
    show("parse into Parquet, no redaction", size, lambda: into_parquet(paths, Plain()))
    show("parse into Parquet, redacted", size, lambda: into_parquet(paths, redactor))


def known(paths: Sequence[Path]) -> list[Path]:
    return [path for path in paths if formats.sniff(path.read_bytes()[: 1 << 20]) is not None]


def show(what: str, size: int, work: Callable[[], str]) -> None:
    work()
    seconds, yields = min(timed(work) for _ in range(ROUNDS))
    print(f"  {what:<34} {size / 1e6 / seconds:7.1f} MB per CPU-second   {yields}")


def timed(work: Callable[[], str]) -> tuple[float, str]:
    start = time.process_time()
    yields = work()
    return time.process_time() - start, yields


def count(paths: Sequence[Path]) -> str:
    """What a person would write first."""
    found: Counter[str] = Counter()
    for path in paths:
        for line in path.read_bytes().split(b"\n"):
            try:
                row = json.loads(line)
            except ValueError:
                continue
            found.update(kinds(row) if isinstance(row, dict) else ())
    return f"{found['user']} user rows, {found['tool_use']} tool calls"


def kinds(row: dict[str, object]) -> list[str]:
    message = row.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    blocks = content if isinstance(content, list) else []
    uses = ["tool_use" for block in blocks if isinstance(block, dict) and "input" in block]
    return [str(row.get("type")), *uses]


def read(paths: Sequence[Path]) -> str:
    turns = calls = 0
    for path in paths:
        data = path.read_bytes()
        reader = formats.sniff(data[: 1 << 20])
        assert reader is not None
        counts = reader.read(data).counts
        turns, calls = turns + counts.turns, calls + counts.tool_uses
    return f"{turns} turns, {calls} tool calls"


def into_parquet(paths: Sequence[Path], redactor: parse.Redacts) -> str:
    with tempfile.TemporaryDirectory() as folder:
        report = parse.archives(paths, Lake(Path(folder)), redactor=redactor)
    return f"{report.read.turns} turns, {report.read.tool_uses} tool calls"


if __name__ == "__main__":
    main(sys.argv[1:])
