"""Control characters in archives, names of files and responses: no command prints them as they are.

On standard output and error, in tables, errors, the log and `--json`; in a pipe and on a terminal.
"""

import json
import logging
import re
import warnings
from itertools import product
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.command import CommandResult, restored_handlers, run_in_process, turnetl_process
from tests.cli.hostile_text import (
    FORBIDDEN,
    HOSTILE,
    NAME,
    assert_clean,
    assert_clean_terminal,
    write_hostile_archives,
)
from tests.cli.provider_setup import model_environment
from tests.cli.test_console import in_terminal
from tests.docs.test_reference import commands
from tests.servers.provider import FakeProvider, Fault
from turnetl import console
from turnetl.base.control_characters import displayed_json, displayed_message, displayed_text
from turnetl.base.errors import GraphUnusable


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an ingested archive whose texts and names are all hostile."""
    home = tmp_path_factory.mktemp("home")
    write_hostile_archives(home)
    run_in_process("backfill", ".", folder=home)
    return home


COMMANDS: list[tuple[str, ...]] = [
    ("backfill", "."),
    ("parse", "."),
    ("parse", f"no {NAME}"),
    ("parse", ".", "--shard", NAME),
    ("backfill", ".", "--shard", "1/2"),
    ("parse", ".", "--dry-run", "--verbose"),
    ("filter",),
    ("filter", "--group", NAME),
    ("ingest",),
    ("retry",),
    ("ingest", "--dry-run"),
    ("sources",),
    ("export", "--output", "exported", "--format", "markdown"),
    ("export", "--output", f"no {NAME}", "--session", NAME),
    ("sql", "FROM turns"),
    ("sql", f"FROM steps WHERE {NAME}"),
    ("import", f"no {NAME}", "--machine", "laptop"),
    ("import", ".turnetl/lake", "--machine", "laptop", "--lake", "imported"),
    ("status",),
    ("verify",),
    ("index",),
    ("search", "cart"),
    ("search", f"cart {HOSTILE}"),
    ("search", "cart", "--recipe", "COMBINED_HYBRID_SEARCH_RRF"),
    ("timeline",),
    ("sessions",),
    ("sessions", "--session", NAME),
    ("resume", "s1", "--print"),
    ("resume", NAME),
    ("entity", "cart.py"),
    ("file", "cart.py"),
    ("file", f"{NAME}.py"),
    ("fix", "KeyError"),
    ("why", f"{NAME}.py:1"),
    ("serve", "--host", NAME),
    ("mcp", "--port", NAME),
    ("install", NAME),
    ("install", "--all", "--dry-run"),
    ("uninstall", NAME),
    ("uninstall", "--all", "--dry-run"),
    ("hook", "prompt", "--agent", NAME),
    ("show", NAME),
    ("runs",),
    ("report", "--output", f"{NAME}.html"),
    ("report", "--output", "report.html", "--redact-personal"),
    ("report", "--output", f"no {NAME}/report.html"),
    ("report", "--output", "report.html", "--group", NAME),
    ("rules",),
    ("templates", "list"),
    ("templates", "show", NAME),
    ("redo", "--dry-run"),
    ("forget", "--session", "s1", "--dry-run"),
    ("forget", "--match", f"no {NAME}", "--dry-run"),
    ("plan", "."),
    ("plan", f"no {NAME}"),
    ("migrate", "plan", "."),
    ("migrate", "plan", f"no {NAME}"),
    ("migrate", "run", "."),
    ("migrate", "run", f"no {NAME}"),
    ("migrate", "compare", "--group", NAME),
    ("migrate", "cutover", "--group", NAME, "--yes"),
    ("migrate", "rollback", "--group", NAME, "--yes"),
    ("migrate", "finish", "--group", NAME, "--yes"),
    ("digest", "--since", "2020-01-01"),
    ("digest", "--since", "2020-01-01", "--by", "project", "--markdown"),
    ("digest", "--group", NAME),
    ("entity", "duplicates"),
    ("entity", "merge", NAME, f"no {NAME}", "--dry-run"),
    ("entity", "split", NAME, f"no {NAME}", "--dry-run"),
    ("communities", "build"),
    ("graph", "upgrade"),
    ("graph", "upgrade", "--with", NAME),
    ("communities", "build", "--group", NAME),
    ("summarize",),
    ("summarize", "--audit", "5"),
    ("summarize", "--group", NAME),
    ("review", "accept", NAME),
    ("undo", "--session", "s1", "--dry-run"),
    ("undo", NAME),
    ("runs", "show", NAME),
    ("journal", "stats"),
    ("journal", "prune", NAME),
    ("index", "--questions", "--dry-run"),
    ("index", "--embedder", "local"),
    ("model", "check"),
    ("templates", "check", NAME),
    ("templates", "copy", NAME),
    ("templates", "compare", NAME, f"{NAME}.md", "--group", NAME),
    ("evaluate", "--questions", f"{NAME}.tsv"),
    ("formats",),
    ("schema", NAME),
    ("completion", "show", NAME),
    ("completion", "install", NAME),
    ("prefect", "setup", "--notify", NAME),
    ("prefect", "doctor"),
    ("trust",),
    ("config", "show"),
    ("trust", "--list"),
    ("status", "--config", f"{NAME}.json"),
    ("status", "--lake", f"lake {NAME}"),
    ("status", f"--{NAME}"),
]


@pytest.mark.full
def test_no_command_prints_a_control_character(folder: Path, subtests: pytest.Subtests) -> None:
    for options, arguments in product(((), ("--json",)), COMMANDS):
        with subtests.test(arguments=ascii(arguments), options=options):
            result = run_in_process(*arguments, *options, folder=folder)
            assert_clean(result)
            if options and arguments[0] not in ("completion", "hook", "mcp"):
                assert isinstance(result.json, dict)


def test_every_command_is_among_them() -> None:
    typed = {" ".join(arguments[:length]) for arguments in COMMANDS for length in (1, 2)}
    assert [name for name, _ in commands() if name not in typed] == []


def test_the_archive_is_hostile_enough(folder: Path) -> None:
    """Its texts are displayed, and not missing."""
    shown = run_in_process("search", "cart", "--json", folder=folder)
    assert "\\u001b]0;owned" in shown.stdout
    assert "\\u202egpj" in shown.stdout
    assert "\\u009b31m" in shown.stdout
    assert "\x9b31m" in "".join(hit["prompt"] + hit["fact"] for hit in shown.json["hits"])
    again = run_in_process("parse", ".", folder=folder)
    assert "\\u202egpj" in again.stderr


@pytest.mark.full
def test_no_command_prints_a_control_of_an_archive_on_a_terminal(folder: Path) -> None:
    for arguments in (("search", "cart", "-v"), ("backfill", ".", "--lake", f"bars {NAME}")):
        text = in_terminal(*arguments, folder=folder, PAGER="cat")
        assert_clean_terminal(text)
        assert "owned" in text


@pytest.mark.full
def test_the_text_of_a_provider_is_displayed(provider: FakeProvider, folder: Path) -> None:
    body = json.dumps({"error": {"message": f"quota {HOSTILE}"}})
    provider.faults = [Fault(400, body)] * 100
    environment = model_environment(provider)
    for arguments in (("model", "check"), ("ingest", "--extractor", "llm", "--lake", "other")):
        for options in ((), ("--json",), ("--debug",)):
            result = run_in_process(*arguments, *options, folder=folder, **environment)
            assert_clean(result)
    assert "quota" in run_in_process("model", "check", folder=folder, **environment).stderr


def failing(*_: object, **__: object) -> int:
    logging.getLogger("turnetl.example").warning("bad %s", NAME, extra={"path": NAME})
    warnings.warn(f"warning {NAME}", UserWarning, stacklevel=1)
    raise GraphUnusable(f"no graph {NAME}")


def unexpected(*_: object, **__: object) -> int:
    log = logging.getLogger("turnetl.example")
    log.info("unexpected", exc_info=KeyError(NAME))
    raise OSError(2, f"No such file {NAME}", f"{NAME}\udcff")


@pytest.mark.filterwarnings("always")
def test_errors_warnings_and_tracebacks_are_displayed(
    capsys: pytest.CaptureFixture[str], subtests: pytest.Subtests
) -> None:
    for app in (failing, unexpected):
        for options in ([], ["--debug"], ["--verbose"], ["--json"]):
            with subtests.test(app=app.__name__, options=options), restored_handlers():
                console.run(app, ["status", *options])
                captured = capsys.readouterr()
                assert_clean(CommandResult((), 1, captured.out, captured.err))
                assert "\\x1b]0;owned" in captured.err
                if app is failing:
                    assert "UserWarning: warning a\\x1b" in captured.err


@pytest.mark.full
def test_the_name_of_a_file_that_is_not_utf8_is_printed(tmp_path: Path) -> None:
    name = b"bad \xff\x1b.jsonl".decode("utf-8", "surrogateescape")
    (tmp_path / name).write_text("nothing")
    result = turnetl_process("parse", name, "--json", folder=tmp_path)
    assert_clean(result)
    assert "bad" in result.stderr


@pytest.mark.full
@given(st.text())
def test_displayed_text_has_no_control_and_keeps_every_letter(text: str) -> None:
    shown = displayed_text(text)
    assert not FORBIDDEN.search(shown)
    assert (
        FORBIDDEN.search(text) or re.search("[\ud800-\udfff\ufff9-\ufffb]", text) or shown == text
    )
    assert displayed_text(shown) == shown


ALLOWED = (
    "\u0633\u0644\u0627\u0645",
    "\u05e9\u05dc\u05d5\u05dd",
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "\U0001f469\u200d\U0001f4bb",
    "a\tb\nc",
)
"""Arabic, Hebrew, Persian with a joiner, an emoji with a joiner, white space."""


def test_letters_of_all_scripts_stay() -> None:
    assert [displayed_text(text) for text in ALLOWED] == [*ALLOWED]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_displayed_json_is_the_same_value(text: str) -> None:
    shown = displayed_json(msgspec.json.encode({text: [text]}).decode())
    assert not FORBIDDEN.search(shown)
    assert msgspec.json.decode(shown) == {text: [text]}


@given(st.text())
def test_only_the_first_line_of_a_message_starts_in_the_first_column(text: str) -> None:
    assert all(line.startswith("    ") for line in displayed_message(text).split("\n")[1:])
