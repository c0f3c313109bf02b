"""Damage every kind of file of a lake in every way, and see whether the commands notice.

    python -m benchmarks.damage [--seed 1] [--only WORD] [--verify-only]

A small lake is filled: turns whose archive exists and turns whose archive is gone, episodes, an
embedded graph, a search index, a journal, a quarantined turn and a list of forgotten turns. Each
damage is made in a copy, in a process of its own, which then runs the commands. A damage is

- detected: `turnetl verify` fails, and names the file or a folder of the lake that holds it;
- harmless: it does not, and everything that the lake holds is exported as before;
- missed: anything else.

Exits with 1 if a damage is missed, or if a command hangs, dies, prints a traceback or an unexpected
error. `--only` selects the files and damages whose name holds the word.
"""

import argparse
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from tests.cli.archives import conversation, write_archive
from tests.cli.command import clean_environment
from turnetl.base.model import GroupId, TurnId
from turnetl.ingestion.quarantine import Quarantine, QuarantineEntry
from turnetl.lake import LocalFiles
from turnetl.lake.forgotten import ForgottenTurns, write_forgotten
from turnetl.llm.chat import ChatMessage, ChatRequest, ChatResponse
from turnetl.llm.journal.file import JournalFile, to_row

SECONDS = 120
"""After which a command counts as hanging."""
NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
LAKE = "lake"
GONE = "till"
"""The group whose archive is gone."""
COMMANDS = ("verify", "status", "search cart", "filter", "ingest", "backfill archives", "report")
_PROGRAM = """
import json, sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from turnetl import cli, console
for line in json.loads(sys.argv[1]):
    out, err = StringIO(), StringIO()
    print(json.dumps({"starts": line}), flush=True)
    with redirect_stdout(out), redirect_stderr(err):
        code = console.run(cli.app, line, reading=cli.READING_COMMANDS)
    print(json.dumps({"code": code, "out": out.getvalue(), "err": err.getvalue()}), flush=True)
"""
Damage = Callable[[Path, random.Random], None]


@dataclass(frozen=True)
class DamageOutcome:
    """How a command ended."""

    command: Sequence[str]
    code: int | None
    """None: it died or hung."""
    text: str = ""

    @property
    def is_wrong(self) -> bool:
        unexpected = ("Traceback", "unexpected error", "run again with --debug")
        return self.code is None or any(words in self.text for words in unexpected)


def fill(folder: Path) -> None:
    """Fill a lake in a folder, with the archives beside it."""
    prompts = {
        "shop": ("why does the cart round down?", "which tests of the cart fail now?"),
        "cart": ("how is the cart stored?", "move the cart to sqlite", "and now its tests"),
        GONE: ("what is the till?", "who closes the till at night?"),
    }
    for project, asked in prompts.items():
        rows = conversation(*asked, session=project, at=NOW)
        rows = [row.replace("/home/dev/shop", f"/home/dev/{project}") for row in rows]
        write_archive(folder / "archives" / project / "session.jsonl", rows)
    run(folder, ["backfill archives"])
    shutil.rmtree(folder / "archives" / GONE)
    entry = QuarantineEntry(TurnId("turn"), "too long", "archive", 1, "run", NOW)
    Quarantine(LocalFiles(folder / LAKE), GroupId("shop")).add(entry)
    forgotten = ForgottenTurns().extended([(GroupId("shop"), TurnId("gone"))])
    write_forgotten(LocalFiles(folder / LAKE), forgotten)
    with closing(JournalFile.open(folder / LAKE / "journal.sqlite", 1)) as journal:
        for number in range(20):
            request = ChatRequest("any", (ChatMessage("user", f"question {number}"),), None, 100)
            response = ChatResponse(f"answer {number}" * 50, 9, 9, truncated=False)
            row = to_row(f"key {number}", request, "some/model", response, NOW)
            journal.insert(row, replace=False)


def targets(lake: Path) -> Mapping[str, Path]:
    """Return a file of each kind."""
    index = next((lake / "index").iterdir())

    def first(pattern: str) -> Path:
        return min(lake.glob(pattern))

    of_index = {
        f"index {name}": min(index.glob(name))
        for name in (
            "catalog.sqlite",
            "vectors/keys",
            "vectors/vectors",
            "vectors/scales",
            "vectors/tokens",
            "lexical/turns/meta.json",
            "lexical/turns/*.idx",
            "lexical/passages/*.term",
            "lock.sqlite",
        )
    }
    return {
        "turns": first("turns/*shop*/*.parquet"),
        "turns without archive": first(f"turns/*{GONE}*/*.parquet"),
        "episodes": first("episodes/*shop*.parquet"),
        "graph": lake / "graph.lbug",
        "checksum of graph": lake / "graph.lbug.checksum",
        "lock of graph": lake / "graph.lbug.lock",
        **of_index,
        "journal": lake / "journal.sqlite",
        "redaction key": lake / "redaction.key",
        "forgotten turns": lake / "forgotten.json",
        "quarantine": first("quarantine/*/*.json"),
    }


def damages(lake: Path) -> Mapping[str, Damage]:
    """Return the ways to damage a file."""
    return {
        "empty": partial(_written, content=b""),
        "half": lambda path, _: _cut(path, path.stat().st_size // 2),
        "last byte missing": lambda path, _: _cut(path, path.stat().st_size - 1),
        "bit in the first bytes": partial(_flip, first=0, last=0.0),
        "bit in the last bytes": partial(_flip, first=1.0, last=1.0),
        "bit in the middle": partial(_flip, first=0.0, last=1.0),
        "another bit in the middle": partial(_flip, first=0.1, last=0.9),
        "zero block": _zeros,
        "foreign": partial(_written, content=b"\x89PNG\r\n\x1a\n" + bytes(500)),
        "newer": _newer,
        "swapped": partial(_swap, lake),
        "folder": _folder,
        "pipe": _pipe,
        "gone": lambda path, _: path.unlink(),
        "not readable": lambda path, _: path.chmod(0),
    }


def _written(path: Path, _: random.Random, *, content: bytes) -> None:
    path.write_bytes(content)


def _cut(path: Path, size: int) -> None:
    os.truncate(path, max(0, size))


def _flip(path: Path, source: random.Random, *, first: float, last: float) -> None:
    data = bytearray(path.read_bytes())
    if not data:
        return
    low = max(0, int(first * len(data)) - 16)
    high = min(len(data) - 1, int(last * len(data)) + 16)
    data[source.randint(low, max(low, high))] ^= 1 << source.randrange(8)
    path.write_bytes(data)


def _zeros(path: Path, source: random.Random) -> None:
    data = bytearray(path.read_bytes())
    size = min(4096, max(1, len(data) // 4))
    start = source.randrange(max(1, len(data) - size))
    data[start : start + size] = bytes(len(data[start : start + size]))
    path.write_bytes(data)


def _newer(path: Path, _: random.Random) -> None:
    """Give the file a version that no turnetl has yet."""
    if path.suffix == ".sqlite":
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA user_version = 99")
    elif path.suffix == ".parquet":
        import polars as pl  # noqa: PLC0415 - a process of its own

        text = json.loads(pl.read_parquet_metadata(path)["turnetl"])
        version = "99" if isinstance(text["schema"], str) else 99
        metadata = {"turnetl": json.dumps({**text, "schema": version})}
        pl.read_parquet(path).write_parquet(path, metadata=metadata)
    elif path.suffix == ".json":
        path.write_text(json.dumps({**json.loads(path.read_text()), "version": 99}))


def _swap(lake: Path, path: Path, _: random.Random) -> None:
    """Exchange the file with another one of its kind, if there is one, else with another file."""
    same = [other for other in lake.rglob(f"*{path.suffix}") if other.is_file() and other != path]
    near = [other for other in same if other.parent.parent == path.parent.parent]
    others = near or same or [lake / "redaction.key"]
    other = max(others, key=lambda one: (one.parent != path.parent, str(one)))
    spare = path.with_name("spare")
    path.rename(spare)
    with suppress(FileNotFoundError):
        other.rename(path)
    spare.rename(other)


def _folder(path: Path, _: random.Random) -> None:
    path.unlink()
    path.mkdir()


def _pipe(path: Path, _: random.Random) -> None:
    path.unlink()
    os.mkfifo(path)


def run(folder: Path, commands: Sequence[str]) -> list[DamageOutcome]:
    """Run commands one after the other in one process, and others if it dies or hangs."""
    left = [(*command.split(), "--lake", LAKE) for command in commands]
    outcomes: list[DamageOutcome] = []
    while left:
        done = list(_run(folder, left))
        outcomes += done
        left = left[len(done) :]
    return outcomes


def _run(folder: Path, lines: Sequence[Sequence[str]]) -> Iterator[DamageOutcome]:
    command = [sys.executable, "-c", _PROGRAM, json.dumps(lines)]
    environment = clean_environment(folder)
    try:
        result = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS * len(lines),
        )
        stdout = result.stdout
    except subprocess.TimeoutExpired as error:
        stdout = (error.stdout or b"").decode()
    started: Sequence[str] = ()
    for line in stdout.splitlines():
        values = json.loads(line)
        if "starts" in values:
            started = values["starts"]
            continue
        yield DamageOutcome(started, values["code"], values["out"] + values["err"])
        started = ()
    if started:
        yield DamageOutcome(started, None, "it died or hung")


def exported(folder: Path) -> list[DamageOutcome]:
    """Return everything that the lake holds, as far as commands show it."""
    commands = ("export --output out --format jsonl", "search cart --json", "journal stats --json")
    shutil.rmtree(folder / "out", ignore_errors=True)
    shown = run(folder, commands)
    rows = sorted(
        (path.name, path.read_bytes()) for path in folder.glob("out*/**/*") if path.is_file()
    )
    kept = [DamageOutcome(one.command, one.code, _without_times(one.text)) for one in shown[1:]]
    return [*kept, DamageOutcome(["export"], 0, repr(rows))]


def _without_times(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if "caught_up" not in line)


def tried(
    source: Path,
    kind: str,
    name: str,
    *,
    seed: int,
    expected: list[DamageOutcome],
    commands: Sequence[str],
) -> tuple[str, list[DamageOutcome]]:
    """Make one damage in a copy; return what `verify` said of it, and what went wrong."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        shutil.copytree(source, folder, dirs_exist_ok=True)
        path = targets(folder / LAKE)[kind]
        damages(folder / LAKE)[name](path, random.Random(f"{seed} {kind} {name}"))
        [verified] = run(folder, commands[:1])
        # Of a search index, which is made again as a whole, its folder is named.
        is_named = any(part in verified.text for part in path.relative_to(folder / LAKE).parts)
        if verified.code not in (0, None) and is_named:
            result = "detected"
        elif verified.code == 0 and exported(folder) == expected:
            result = "harmless"
        else:
            result = "missed"
        others = run(folder, commands[1:])
        return result, [one for one in (verified, *others) if one.is_wrong]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--verify-only", action="store_true")
    arguments = parser.parse_args()
    commands = COMMANDS[:1] if arguments.verify_only else COMMANDS
    counts: dict[str, int] = {}
    wrong = 0
    with tempfile.TemporaryDirectory() as place:
        source = Path(place)
        fill(source)
        expected = exported(source)
        [sound] = run(source, ["verify"])
        if sound.code:
            sys.exit(f"the lake is not sound: {sound.text}")
        for kind in targets(source / LAKE):
            for name in damages(source / LAKE):
                if arguments.only not in f"{kind}: {name}":
                    continue
                if name == "not readable" and getattr(os, "geteuid", int)() == 0:
                    continue
                result, bad = tried(
                    source, kind, name, seed=arguments.seed, expected=expected, commands=commands
                )
                counts[result] = counts.get(result, 0) + 1
                wrong += len(bad)
                print(f"{kind}: {name}: {result}", flush=True)
                for one in bad:
                    print(f"    {' '.join(one.command)}: {one.code} {one.text[-300:]}", flush=True)
    print(", ".join(f"{count} {result}" for result, count in sorted(counts.items())))
    print(f"{wrong} commands ended in a way that they must not")
    return 1 if wrong or counts.get("missed") else 0


if __name__ == "__main__":
    sys.exit(main())
