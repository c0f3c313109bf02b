"""What every command prints besides its result: the log, tracebacks, styles."""

import logging
import os
import pty
import subprocess
from pathlib import Path

import pytest

from tests.cli.archives import conversation, write_archive
from tests.cli.command import (
    CommandResult,
    clean_environment,
    command_line,
    restored_handlers,
    run_in_process,
    turnetl_process,
)
from tests.cli.test_assumed_time import MARCH
from tests.cli.typed_terminal import answered
from turnetl import console
from turnetl.base.errors import GraphUnusable
from turnetl.base.exit_code import ExitCode

ESCAPE = "\x1b["


def test_the_version_is_that_of_the_package() -> None:
    result = turnetl_process("--version", folder=Path.cwd())
    assert (result.exit_code, result.stdout.strip()) == (0, "0.1.0")


def test_verbose_logs_to_standard_error(tmp_path: Path) -> None:
    archive = write_archive(tmp_path / "a.jsonl", conversation("add a cart", at=MARCH))
    assert run_in_process("parse", archive, "--json", folder=tmp_path).stderr == ""
    for option in ("-v", "--verbose"):
        verbose = run_in_process("parse", archive, "--json", option, folder=tmp_path)
        assert "INFO turnetl.console.output: parse archives: 1 of 1" in verbose.stderr
        assert verbose.json["archives"]["unchanged"] == 1
        assert verbose.messages == []


def test_the_log_has_the_facts_of_a_record(capsys: pytest.CaptureFixture[str]) -> None:
    def logging_app(_: list[str], **__: bool) -> int:
        import logging  # noqa: PLC0415 - as a module of turnetl would

        logging.getLogger("turnetl.example").info("request repeated", extra={"prompt": "nodes"})
        return 0

    assert run_app(logging_app, "-v") == 0
    assert "INFO turnetl.example: request repeated prompt=nodes" in capsys.readouterr().err


def unexpected(*_: object, **__: object) -> int:
    raise KeyError("no such key")


def fatal(*_: object, **__: object) -> int:
    raise GraphUnusable("the graph is read-only; choose another one")


def run_app(app: object, *arguments: str) -> int:
    assert callable(app)
    with restored_handlers():
        return console.run(app, arguments)


def test_an_unexpected_error_is_one_sentence_that_names_the_option_for_the_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_app(unexpected, "--json") == ExitCode.FAILED
    captured = capsys.readouterr()
    result = CommandResult(("status",), 1, captured.out, captured.err)
    (message,) = result.messages
    assert "unexpected error: KeyError: 'no such key'" in message
    assert "--debug" in message
    assert "Traceback" not in captured.err
    assert result.json == {"error": message.removeprefix("turnetl: "), "exit_code": 1}


@pytest.mark.parametrize(("app", "name"), [(unexpected, "KeyError"), (fatal, "GraphUnusable")])
def test_debug_prints_the_traceback_of_every_error(
    app: object, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_app(app, "--debug") == ExitCode.FAILED
    traceback, _, message = capsys.readouterr().err.rpartition("\nturnetl: ")
    assert traceback.startswith("Traceback (most recent call last)")
    assert name in traceback
    assert message.count("\n") == 1


def unwritable(*_: object, **__: object) -> int:
    raise PermissionError(13, "Permission denied", "/lake/turns")


def test_an_error_of_a_file_names_the_file_and_the_option_for_the_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_app(unwritable) == ExitCode.FAILED
    message = "turnetl: /lake/turns: Permission denied; run again with --debug to see where\n"
    assert capsys.readouterr().err == message


def one_bad_archive(*_: object, **__: object) -> int:
    log = logging.getLogger("turnetl.example")
    try:
        unexpected()
    except KeyError:
        log.info("unexpected error in archive a.jsonl", exc_info=True)
    log.info("parse archives: 1 of 1")
    return 0


def test_debug_prints_the_traceback_of_an_error_that_did_not_end_the_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_app(one_bad_archive) == ExitCode.DONE
    assert capsys.readouterr().err == ""
    assert run_app(one_bad_archive, "--debug") == ExitCode.DONE
    first, *lines = capsys.readouterr().err.splitlines()
    assert first == "turnetl: unexpected error in archive a.jsonl"
    assert (lines[0], lines[-1]) == (
        "Traceback (most recent call last):",
        "KeyError: 'no such key'",
    )


def test_options_after_two_dashes_are_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(fatal, "--", "--debug", "--json") == ExitCode.FAILED
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)


def in_terminal(*arguments: str, folder: Path, **environment: str) -> str:
    """Run the command in a terminal of 60 columns and return all that it prints."""
    terminal, stdout = pty.openpty()
    variables = {"TERM": "xterm-256color", "COLUMNS": "60", **environment}
    with subprocess.Popen(
        command_line(*arguments),
        cwd=folder,
        env=clean_environment(folder) | variables,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stdout,
    ) as process:
        os.close(stdout)
        chunks = []
        try:
            while chunk := os.read(terminal, 4_096):
                chunks.append(chunk)
        except OSError:  # how Linux reports the end of a terminal
            pass
        process.wait(timeout=60)
    os.close(terminal)
    return b"".join(chunks).decode()


@pytest.mark.full
def test_no_color_means_no_styling_at_all(tmp_path: Path, subtests: pytest.Subtests) -> None:
    write_archive(tmp_path / "a.jsonl", conversation("add a cart", at=MARCH))
    for arguments in (("rules",), ("status", "--help"), ("parse", "a.jsonl")):
        with subtests.test(arguments=arguments):
            text = in_terminal(*arguments, folder=tmp_path, NO_COLOR="1")
            codes = [part.partition("m")[0] for part in text.split(ESCAPE)[1:]]
            styles = [code for code in codes if code.replace(";", "").isdigit()]
            assert [style for style in styles if not text.count(f"{ESCAPE}{style}A")] == []
            assert text.strip()


def test_without_no_color_a_terminal_has_styles(tmp_path: Path) -> None:
    assert f"{ESCAPE}1m" in in_terminal("formats", folder=tmp_path)


@pytest.mark.full
def test_nothing_is_wrapped_or_truncated_in_a_pipe(tmp_path: Path) -> None:
    name = "a_group_with_a_long_name_" * 8
    long = "Please add a cart to the shop, and " * 20
    write_archive(tmp_path / "a.jsonl", conversation(long, "thanks", at=MARCH))
    backfill = ("backfill", "a.jsonl", "--group", name)
    texts = [
        run_in_process(*command, folder=tmp_path, COLUMNS="40").stdout
        for command in (backfill, ("status",), ("filter",))
    ]
    group = run_in_process("status", "--json", folder=tmp_path).json["groups"][0]["group"]
    assert len(group) > 60
    assert [(group in text, "…" in text) for text in texts] == [(True, False)] * 3
    hit = run_in_process("search", "cart", folder=tmp_path, COLUMNS="40").stdout
    assert group in hit
    assert any(len(line) > 100 for line in hit.splitlines())


@pytest.mark.parametrize("width", [40, 80])
def test_a_message_on_a_terminal_is_broken_between_words_only(tmp_path: Path, width: int) -> None:
    arguments = ("search", "cart", "--since", "soon")
    output, code = answered(*arguments, folder=tmp_path, typed="", COLUMNS=str(width))
    whole = run_in_process(*arguments, folder=tmp_path).stderr
    assert code == 2
    assert output.split() == whole.split()
    lines = output.splitlines()
    assert len(lines) > 1
    assert max(map(len, lines)) <= width
    assert all(line.startswith("  ") for line in lines[1:])
