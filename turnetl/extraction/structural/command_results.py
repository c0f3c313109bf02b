"""What a turn's commands did: how they ended, what they installed, what they recorded."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from turnetl.extraction.structural import failures, packages, prose
from turnetl.extraction.structural.calls import CallKind, ClassifiedCall
from turnetl.extraction.structural.commands import ShellCommand, commands
from turnetl.extraction.structural.failures import CommandFailure
from turnetl.extraction.structural.findings import (
    COMMAND,
    CONCEPT,
    ERROR,
    FILE,
    PACKAGE,
    TOOL,
    CommandSuccess,
    EntityKey,
    FactDraft,
)
from turnetl.extraction.structural.turn_context import TurnContext

_COMMIT, _FAIL, _PACKAGE, _RUN = 3, 4, 6, 12
_HEREDOC_MESSAGE = re.compile(r"<<-?\s?['\"]?([A-Z]{2,10})['\"]?\s{1,20}(\S[^\n]{2,300})(?:\n|$)")
_MESSAGE = re.compile(
    r"\s(?:-a?m|--message|--title|-t)[ =]\s{0,3}(?:\"((?!\$\()(?:[^\"\\]|\\.){3,600})"
    r"|'([^']{3,600}))"
)
_TRAILER = re.compile(r"(?:\s{2,}|🤖|Co-Authored-By|\bEOF\b).*$", re.DOTALL)
_RECORDS = {"git commit": "Committed", "gh pr create": "Opened a pull request"}
_NARROW = re.compile(r"\s(?:-run|-k|-t|--test|--grep|--filter|--testNamePattern|-only|--lf)\b|::")


@dataclass(frozen=True, slots=True)
class _CommandRun:
    """One command of one call, and how it ended."""

    place: int
    command: ShellCommand
    at: datetime | None
    failed: bool
    found: tuple[CommandFailure, ...]


def command_findings(scene: TurnContext) -> tuple[list[FactDraft], list[CommandSuccess]]:
    """Return what is to be said of commands, and the successes that end older failures."""
    runs = list(_runs(scene))
    recorded = list(_recorded(scene))
    said = [*recorded, *_failed(scene, runs), *_installed(scene, runs)]
    said += _went_well(scene, runs, {one.source.name for one in recorded})
    good = [
        CommandSuccess(_thing(run.command), run.command.line, run.at)
        for run in runs
        if not run.failed and run.at
    ]
    return said, good


def covers(success: str, failure: str, test: str = "") -> bool:
    """Whether a command line that went well answers for one that failed under the same name.

    `go test ./...` does for `go test ./... -run TestCart`; the other way round it does not, unless
    the failure was `TestCart`'s.
    """
    if success == failure or not failure or (test and test in success):
        return True
    if _NARROW.search(success):
        return False
    arguments = _arguments(success)
    return arguments <= {"./...", ".", "./"} or arguments == _arguments(failure)


def _arguments(line: str) -> frozenset[str]:
    words = [word for word in line.split(" ")[1:] if not word.startswith("-")]
    return frozenset(word for word in words if "/" in word or "." in word)


def _runs(scene: TurnContext) -> Iterator[_CommandRun]:
    for place, call in enumerate(scene.calls):
        if call.kind is not CallKind.RUN or not call.targets or call.refused:
            continue
        named = commands(call.targets[0])
        blamed = _blamed(named, call)
        for command in named:
            found = _found(command, call) if command is blamed else ()
            failed = command is blamed and (call.of.is_error or bool(found))
            # Behind the one that failed nothing ran; before it all went well.
            yield _CommandRun(place, command, scene.at(call), failed, found)
            if failed:
                break


def _blamed(named: list[ShellCommand], call: ClassifiedCall) -> ShellCommand | None:
    """Return the command that an error is most likely of: a test, else the last."""
    tests = [command for command in named if command.tests]
    if tests:
        return tests[-1]
    return named[-1] if named and call.of.is_error else None


def _found(command: ShellCommand, call: ClassifiedCall) -> tuple[CommandFailure, ...]:
    if not call.of.is_error and not command.tests:
        return ()
    return tuple(failures.failures(call.of.result, is_error=call.of.is_error))


def _thing(command: ShellCommand) -> EntityKey:
    bare = command.name == command.program and "/" not in command.name
    return EntityKey(COMMAND, command.name, second_label=TOOL if bare else "")


def _failed(scene: TurnContext, runs: list[_CommandRun]) -> Iterator[FactDraft]:
    met: dict[tuple[str, CommandFailure], list[_CommandRun]] = defaultdict(list)
    for run in runs:
        for failure in run.found:
            met[run.command.name, failure].append(run)
    for (_, failure), times in met.items():
        line = min(run.command.line for run in times)
        at = min((run.at for run in times if run.at), default=None)
        source = _thing(times[0].command)
        target = EntityKey(CONCEPT if failure.is_test else ERROR, failure.name)
        where = _where(scene, failure)
        yield FactDraft(
            _FAIL,
            source,
            "FAILED_WITH",
            target,
            f"`{line}` failed {'in' if failure.is_test else 'with'} `{failure.name}`"
            + (f" in `{where}`" if where else ""),
            at,
            until=_ended(runs, times, failure),
            attributes={"line": line},
        )
        if where and not failure.is_test and "/" in where:
            text = f"`{failure.name}` occurred in `{where}` when `{line}` was run"
            yield FactDraft(_FAIL + 1, target, "OCCURRED_IN", EntityKey(FILE, where), text, at)


def _where(scene: TurnContext, failure: CommandFailure) -> str:
    return (scene.project.mentioned(failure.where) or "") if failure.where else ""


def _ended(
    runs: list[_CommandRun], failed: list[_CommandRun], failure: CommandFailure
) -> datetime | None:
    """Return when a later call of the turn did well what had failed."""
    last = failed[-1]
    test = failure.name if failure.is_test else ""
    mended = (
        run
        for run in runs
        if run.place > last.place and not run.failed and run.command.name == last.command.name
        if covers(run.command.line, last.command.line, test)
    )
    times = [at for run in islice(mended, 1) for at in (run.at, last.at) if at]
    return max(times, default=None)


def _went_well(
    scene: TurnContext, runs: list[_CommandRun], recorded: set[str]
) -> Iterator[FactDraft]:
    lines: dict[str, Counter[str]] = defaultdict(Counter)
    last: dict[str, _CommandRun] = {}
    for run in runs:
        if (
            run.command.name not in recorded
            and not run.command.only_looks
            and (not run.failed or not run.found)
        ):
            lines[run.command.name][run.command.line] += 1
            last[run.command.name] = run
    for name, counted in lines.items():
        run = last[name]
        line = min(counted, key=lambda of: (-counted[of], of))
        how = " and failed" if run.failed else (" and passed" if run.command.tests else "")
        often = f", {counted.total()} times" if counted.total() > 1 else ""
        source, command = _program(scene, run.command), _thing(run.command)
        text = f"`{line}` was run{how}{often}"
        yield FactDraft(_RUN, source, "RAN", command, text, run.at)


def _program(scene: TurnContext, command: ShellCommand) -> EntityKey:
    bare = command.name == command.program or "/" in command.program
    return scene.hub if bare else EntityKey(TOOL, command.program)


def _installed(scene: TurnContext, runs: list[_CommandRun]) -> Iterator[FactDraft]:
    for run in runs:
        for package in packages.installed(run.command) if not run.failed else ():
            did = "added as a dependency" if packages.is_dependency(run.command) else "installed"
            text = f"`{package}` was {did} with `{run.command.line}`"
            yield FactDraft(_PACKAGE, EntityKey(PACKAGE, package), "ADDED", scene.hub, text, run.at)


def _recorded(scene: TurnContext) -> Iterator[FactDraft]:
    """Yield the messages of commits and the titles of pull requests."""
    for call in scene.calls:
        if call.kind is not CallKind.RUN or not call.targets or call.of.is_error:
            continue
        shell = call.targets[0][:6000]
        for name, did in _RECORDS.items():
            start = shell.find(name)
            message = _message(shell[start + len(name) - 1 :]) if start >= 0 else ""
            if message:
                target = scene.spoken_of(message, EntityKey(COMMAND, name))
                text = f"{did}: {message}"
                yield FactDraft(
                    _COMMIT, EntityKey(COMMAND, name), "RECORDED", target, text, scene.at(call)
                )


def _message(arguments: str) -> str:
    quoted = _MESSAGE.search(arguments[:2000])
    if quoted:
        message = quoted.group(1) or quoted.group(2)
    else:
        written = _HEREDOC_MESSAGE.search(arguments[:2000])
        message = written.group(2) if written else ""
    first = message.strip().split("\n")[0]
    return prose.shorten(_TRAILER.sub("", first), 200)
