"""A graph of three sessions, of which one is forgotten."""

from datetime import timedelta
from pathlib import Path

from tests.cli.archives import conversation, row, tool_call, tool_result, write_archive
from tests.cli.command import CommandResult, run_in_process
from tests.cli.provider_setup import SESSION_START
from turnetl.ingestion.quarantine import Quarantine, QuarantineEntry
from turnetl.lake import LocalFiles

CANARY = 'Martha "Böllerschuss" lives behind the seventh windmill'
"""A person to forget; with quotes and an umlaut, which JSON may escape."""
PIECES = ("llerschuss", "seventh windmill")
"""Parts of the canary that every spelling of it has."""
FAILURE = "\n".join(
    f"FAILED tests/test_cart.py::test_{test} - KeyError: 'price'"
    for test in ("sum", "tax", "total")
)
"""Several facts of several turns tell of the error, so that it is of a community."""
CANARY_FAILURE = "\n".join(
    f"FAILED tests/test_zoo.py::test_{test} - ValueError: {CANARY}"
    for test in ("gate", "map", "sign")
)
LAKE = Path(".turnetl/lake")


def forget(folder: Path, *arguments: str, **environment: str) -> CommandResult:
    return run_in_process("forget", *arguments, folder=folder, **environment)


def fill(folder: Path, **environment: str) -> None:
    """Ingest three sessions; the second has the first one's error, and the third holds the canary.

    Communities are built, too.
    """
    prompts = f"Write into `zebra.md`: {CANARY}", "Thanks, now list the files of the zoo"
    at = SESSION_START + timedelta(hours=2)
    first, *others, last = conversation(*prompts, session="three", at=at)
    failed = pytest_run("three", CANARY_FAILURE, "", hours=2)[1:3]
    again = [text.replace("c-three", "c-again").replace("r-three", "r-again") for text in failed]
    for name, rows in (
        ("one", pytest_run("one", FAILURE, "They fail with KeyError in cart.py.")),
        ("two", pytest_run("two", FAILURE, "They still fail.", hours=1)),
        ("three", [first, *failed, *others, *again, last]),
    ):
        write_archive(folder / "archives" / f"{name}.jsonl", rows)
        result = run_in_process("backfill", "archives", folder=folder, **environment)
        assert result.exit_code == 0, result.stderr
    assert run_in_process("communities", "build", folder=folder, **environment).exit_code == 0
    assert run_in_process("index", folder=folder, **environment).exit_code == 0


def fill_with_model(folder: Path, **environment: str) -> None:
    """Ingest two sessions with a model; the responses to the second hold the end of the canary.

    A quarantine entry is of a turn of the second session.
    """
    later = SESSION_START + timedelta(hours=1)
    for session, prompt, at in (
        ("one", "See the shop: `cart.py` uses `sqlite`.", SESSION_START),
        ("three", f"See {CANARY}: `zebra.md` uses `seventh windmill`.", later),
    ):
        rows = conversation(prompt, session=session, at=at)
        write_archive(folder / "archives" / f"{session}.jsonl", rows)
    result = run_in_process("backfill", "archives", folder=folder, **environment)
    assert result.exit_code == 0, result.stderr
    assert run_in_process("index", folder=folder, **environment).exit_code == 0
    shown = forget(folder, "--session", "three", "--dry-run", "--json", **environment)
    [turn] = shown.json["turns"]
    entry = QuarantineEntry(turn["turn_id"], "too long", turn["archive"], 1, "run", SESSION_START)
    Quarantine(LocalFiles(folder / LAKE), turn["group"]).add(entry)


def pytest_run(session: str, output: str, answer: str, hours: int = 0) -> list[str]:
    """Return a session in which the tests run once."""
    at = SESSION_START + timedelta(hours=hours)
    return [
        row("user", f"Run the tests of {session} please", f"u-{session}", at, sessionId=session),
        tool_call(f"c-{session}", "Bash", at, command="pytest -q").replace('"s1"', f'"{session}"'),
        tool_result(f"r-{session}", f"c-{session}", output, at).replace('"s1"', f'"{session}"'),
        row("assistant", answer, f"a-{session}", at, sessionId=session),
    ]  # fmt: skip


def committed_sessions(folder: Path, *arguments: str) -> dict[str, int]:
    """Return the number of turns of each session in the graph."""
    options = ("--since", "2020-01-01", "--cascade", "--dry-run", "--json")
    groups = run_in_process("undo", *options, *arguments, folder=folder).json["groups"]
    sessions = [turn["session_id"] for group in groups for turn in group["turns"]]
    return {session: sessions.count(session) for session in sessions}


def skipped(folder: Path, *arguments: str) -> dict[str, int]:
    """Read the archives again; return how many lines were skipped, by reason."""
    for path in (folder / "archives").iterdir():
        path.write_text(path.read_text() + "\n")
    result = run_in_process("parse", "archives", "--json", *arguments, folder=folder)
    assert result.exit_code == 0, result.stderr
    reasons: dict[str, int] = result.json["read"]["skipped"]
    return reasons
