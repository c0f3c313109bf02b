"""Memory of a process that parses a small file made to need much of it.

Each file is parsed in a process of its own. The limit is the documented one (docs/security.md,
Resources): 300 MB, and three times the decompressed size, if that is within its own limit.

    python -m benchmarks.bombs [PART_OF_A_NAME]

Exits with 1 if a limit is exceeded.
"""

import gzip
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pyarrow as pa

from benchmarks.cost import at_most, measure_cost
from benchmarks.parse import MAX_MEMORY_MB
from turnetl import parsing
from turnetl.lake import Lake
from turnetl.parsing.sources import ParseLimits
from turnetl.redact.redactor import SecretRedactor

MB = 1 << 20
SIZE = 1200 * MB
"""Decompressed bytes of each packed file."""
REPETITIONS = 3
"""Times the decompressed size that a parsed archive may take."""


def main(only: str) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        files = [(Path(folder) / name, make) for name, make in FILES.items() if only in name]
        return all([check(path, make) for path, make in files])  # noqa: C419 - all are printed


def check(path: Path, make: Callable[[Path], int]) -> bool:
    """Print and check the memory for one file; `make` returns its decompressed size."""
    size = make(path)
    bound = ParseLimits().max_bytes(path.stat().st_size)
    parsed = size if size <= bound or path.suffix == ".jsonl" else 0
    cost = measure_cost(parse, path, path.with_suffix(".lake"))
    kilobytes = path.stat().st_size / 1024
    print(f"{path.name}: {kilobytes:,.0f} kB hold {size / MB:,.0f} MB; {cost.result}")
    return at_most("MB of memory", cost.peak, MAX_MEMORY_MB + REPETITIONS * parsed / MB)


def parse(path: Path, lake: Path) -> str:
    report = parsing.parse_archives([path], Lake(lake), redactor=SecretRedactor(), jobs=1)
    counts = report.archives[0].counts
    skipped = {reason.value: lines for reason, lines in counts.skipped.items()} if counts else {}
    reasons = [problem.reason.value for problem in report.problems]
    return f"{report.archives[0].outcome.value}, {skipped}, {reasons}"


def turn(text: str) -> bytes:
    message = {"role": "user", "content": text}
    fields = {"type": "user", "sessionId": "s1", "cwd": "/shop", "uuid": "u", "message": message}
    return json.dumps(fields | {"timestamp": "2026-03-02T09:00:00Z"}).encode() + b"\n"


def repeated(block: bytes, size: int) -> Iterator[bytes]:
    block *= max(1, MB // len(block))
    for _ in range(size // len(block)):
        yield block


def gzipped(block: bytes, size: int = SIZE) -> Callable[[Path], int]:
    def make(path: Path) -> int:
        with gzip.open(path, "wb", compresslevel=9) as file:
            return sum(file.write(part) for part in repeated(block, size))

    return make


def gzipped_twice_as_often(block: bytes) -> Callable[[Path], int]:
    """Return a function that writes one compressed member many times, as `cat` does."""

    def make(path: Path) -> int:
        member = gzip.compress(block * (64 * MB // len(block)))
        times = SIZE // (64 * MB)
        path.write_bytes(member * times)
        return times * 64 * MB

    return make


def zstandard(block: bytes, size: int = SIZE) -> Callable[[Path], int]:
    def make(path: Path) -> int:
        with pa.CompressedOutputStream(str(path), "zstd") as file:
            return sum(file.write(part) for part in repeated(block, size))

    return make


def line(start: bytes, repeated_part: bytes, end: bytes, size: int) -> Callable[[Path], int]:
    def make(path: Path) -> int:
        with path.open("wb") as file:
            file.write(turn("Mend the cart.") + start)
            for part in repeated(repeated_part, size):
                file.write(part)
            file.write(end + turn("Thank you."))
        return path.stat().st_size

    return make


def document(
    start: bytes, repeated_part: bytes, end: bytes, size: int = 20 * MB
) -> Callable[[Path], int]:
    def make(path: Path) -> int:
        with path.open("wb") as file:
            file.write(start)
            for part in repeated(repeated_part, size):
                file.write(part)
            file.write(end)
        return path.stat().st_size

    return make


FIELDS = b'"sessionId":"s1","cwd":"/shop","timestamp":"2026-03-02T09:00:00Z","message":'
TOOL_CALL = (
    b'{"type":"assistant","uuid":"a",' + FIELDS + b'{"role":"assistant","content":['
    b'{"type":"tool_use","id":"t","name":"Bash","input":{"command":['
)
PROMPT = b'{"type":"user","uuid":"v",' + FIELDS + b'{"role":"user","content":"'
GEMINI_PROMPT = (
    b'{"id":"a","timestamp":"2026-03-02T09:00:00.000Z","type":"user","content":"Mend the cart."}'
)
GEMINI = b'{"sessionId":"s1","projectHash":"h","messages":[' + GEMINI_PROMPT
CODEX = (
    b'{"session":{"timestamp":"2025-04-20T10:03:05.000Z","id":"s","instructions":""},"items":['
    b'{"role":"user","content":[{"type":"input_text","text":"Say hi"}],"type":"message"}'
)
CHAT = b'{"id":"c","messages":[{"role":"user","content":"a"}'
OPENCODE = (
    b'{"info":{"id":"ses_1","directory":"/s","title":"t","version":"1.1",'
    b'"time":{"created":1764010000000}},"messages":[{"info":{"id":"msg_1","sessionID":"ses_1",'
    b'"role":"user","time":{"created":1764010001000}},"parts":[{"id":"p","sessionID":"ses_1",'
    b'"messageID":"msg_1","type":"text","text":"hi"}]}'
)

FILES: Mapping[str, Callable[[Path], int]] = {
    "zeros.jsonl.gz": gzipped(b"\0"),
    "zeros.jsonl.zst": zstandard(b"\0"),
    "members.jsonl.gz": gzipped_twice_as_often(turn("Mend the cart.")),
    "turns.jsonl.gz": gzipped(turn("Mend the cart. " * 2000)),
    "turns.jsonl.zst": zstandard(turn("Mend the cart. " * 2000)),
    "small.jsonl.zst": zstandard(turn("Mend the cart. " * 2000), 60 * MB),
    "long_line.jsonl": line(b'{"type":"x","a":"', b"a", b'"}\n', 100 * MB),
    "nested.jsonl": line(b'{"type":"x","a":[', b"[],", b"1]}\n", 100 * MB),
    "damaged_nested.jsonl": line(b'{"type":"x","a":[', b"[],", b"1]\n", 100 * MB),
    "damaged_numbers.jsonl": line(b'{"type":"x","a":[', b"0,", b"1]}}\n", 100 * MB),
    "tool_input.jsonl": line(TOOL_CALL, b"[],", b"1]}}]}}\n", 60 * MB),
    "prompt.jsonl": line(PROMPT, b"a ", b'"}}\n', 60 * MB),
    "deep.jsonl": line(b'{"type":"x","a":', b"[", b"1\n", 100 * MB),
    "gemini_turns.json": document(GEMINI, b"," + GEMINI_PROMPT, b"]}"),
    "gemini_empty.json": document(GEMINI, b",{}", b"]}"),
    "gemini_nested.json": document(GEMINI + b'],"x":[1', b",[]", b"]}"),
    "gemini_truncated.json": document(GEMINI + b'],"x":[1', b",[]", b"]"),
    "codex_empty.json": document(CODEX, b",{}", b"]}"),
    "chat_turns.json": document(CHAT, b',{"role":"user","content":"a"}', b"]}"),
    "opencode_empty.json": document(OPENCODE, b",{}", b"]}"),
    "unknown.json": document(b"[1", b",1", b"]"),
}

if __name__ == "__main__":
    sys.exit(0 if main(*sys.argv[1:2] or [""]) else 1)
