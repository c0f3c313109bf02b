"""Facts from the tool calls of a turn: commands and their failures, written files, other tools."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from turnetl.extraction.structural import failures, prose, shell_commands
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
from turnetl.extraction.structural.shell_commands import ShellCommand, commands
from turnetl.extraction.structural.tool_calls import CallKind, ClassifiedCall, by_its_agent
from turnetl.extraction.structural.turn_features import TurnFeatures

_COMMIT_RANK, _FAILURE_RANK, _PACKAGE_RANK, _RUN_RANK = 3, 4, 6, 12
_HEREDOC_MESSAGE = re.compile(r"<<-?\s?['\"]?([A-Z]{2,10})['\"]?\s{1,20}(\S[^\n]{2,300})(?:\n|$)")
_MESSAGE = re.compile(
    r"\s(?:-a?m|--message|--title|-t)[ =]\s{0,3}(?:\"((?!\$\()(?:[^\"\\]|\\.){3,600})"
    r"|'([^']{3,600}))"
)
_TRAILER = re.compile(r"(?:\s{2,}|🤖|Co-Authored-By|\bEOF\b).*$", re.DOTALL)
_RECORDING_COMMANDS = {"git commit": "Committed", "gh pr create": "Opened a pull request"}
_FILTERED_RUN = re.compile(
    r"\s(?:-run|-k|-t|--test|--grep|--filter|--testNamePattern|-only|--lf)\b|::"
)


@dataclass(frozen=True, slots=True)
class _CommandRun:
    call_index: int
    call: ClassifiedCall
    command: ShellCommand
    at: datetime | None
    failed: bool
    failures: tuple[CommandFailure, ...]


def command_findings(features: TurnFeatures) -> tuple[list[FactDraft], list[CommandSuccess]]:
    """Return the facts about commands, and the successes that may invalidate older failures."""
    runs = list(_runs(features))
    recorded = list(_commit_facts(features))
    facts = [*recorded, *_failure_facts(features, runs), *_package_facts(features, runs)]
    facts += _run_facts(features, runs, {fact.source.name for fact in recorded})
    successes = [
        CommandSuccess(_entity(run.command), run.command.line, run.at)
        for run in runs
        if not run.failed and run.at
    ]
    return facts, successes


def invalidates(success: str, failure: str, test: str = "") -> bool:
    """Whether the success of one command line invalidates the failure of another.

    Both have the same name. A success of `go test ./...` invalidates a failure of
    `go test ./... -run TestCart`; the reverse is true only if `TestCart` failed.
    """
    if success == failure or not failure or (test and test in success):
        return True
    if _FILTERED_RUN.search(success):
        return False
    arguments = _path_arguments(success)
    return arguments <= {"./...", ".", "./"} or arguments == _path_arguments(failure)


def _path_arguments(line: str) -> frozenset[str]:
    words = [word for word in line.split(" ")[1:] if not word.startswith("-")]
    return frozenset(word for word in words if "/" in word or "." in word)


def _runs(features: TurnFeatures) -> Iterator[_CommandRun]:
    for index, call in enumerate(features.calls):
        if call.kind is not CallKind.RUN or not call.targets or call.rejected:
            continue
        parsed = commands(call.targets[0])
        failed_command = _failed_command(parsed, call)
        for command in parsed:
            is_suspect = command is failed_command
            errors = _failures(command, call) if is_suspect else ()
            failed = is_suspect and (call.call.is_error or bool(errors))
            # Commands after the failed one did not run; those before it succeeded.
            yield _CommandRun(index, call, command, features.at(call), failed, errors)
            if failed:
                break


def _failed_command(parsed: list[ShellCommand], call: ClassifiedCall) -> ShellCommand | None:
    """Return the command that most likely caused an error: a test, else the last one."""
    tests = [command for command in parsed if command.is_test]
    if tests:
        return tests[-1]
    return parsed[-1] if parsed and call.call.is_error else None


def _failures(command: ShellCommand, call: ClassifiedCall) -> tuple[CommandFailure, ...]:
    if not call.call.is_error and not command.is_test:
        return ()
    return tuple(failures.failures(call.call.result, is_error=call.call.is_error))


def _entity(command: ShellCommand) -> EntityKey:
    is_program = command.name == command.program and "/" not in command.name
    return EntityKey(COMMAND, command.name, second_label=TOOL if is_program else "")


def _failure_facts(features: TurnFeatures, runs: list[_CommandRun]) -> Iterator[FactDraft]:
    failed_runs: dict[tuple[str, CommandFailure], list[_CommandRun]] = defaultdict(list)
    for run in runs:
        for failure in run.failures:
            failed_runs[run.command.name, failure].append(run)
    for (_, failure), failed in failed_runs.items():
        line = min(run.command.line for run in failed)
        at = min((run.at for run in failed if run.at), default=None)
        source = _entity(failed[0].command)
        target = EntityKey(CONCEPT if failure.is_test else ERROR, failure.name)
        location = (features.paths.mentioned(failure.location) or "") if failure.location else ""
        calls = [run.call for run in failed]
        draft = FactDraft(
            _FAILURE_RANK,
            source,
            "FAILED_WITH",
            target,
            f"`{line}` failed {'in' if failure.is_test else 'with'} `{failure.name}`"
            + (f" in `{location}`" if location else ""),
            at,
            invalid_at=_invalidated_at(runs, failed, failure),
            attributes={"line": line},
        )
        yield by_its_agent(draft, calls)
        if location and not failure.is_test and "/" in location:
            text = f"`{failure.name}` occurred in `{location}` when `{line}` was run"
            file = EntityKey(FILE, location)
            occurred = FactDraft(_FAILURE_RANK + 1, target, "OCCURRED_IN", file, text, at)
            yield by_its_agent(occurred, calls)


def _invalidated_at(
    runs: list[_CommandRun], failed: list[_CommandRun], failure: CommandFailure
) -> datetime | None:
    """Return the time of the first later success of the turn that invalidates the failure."""
    last = failed[-1]
    test = failure.name if failure.is_test else ""
    successes = (
        run
        for run in runs
        if run.call_index > last.call_index
        and not run.failed
        and run.command.name == last.command.name
        if invalidates(run.command.line, last.command.line, test)
    )
    times = [at for run in islice(successes, 1) for at in (run.at, last.at) if at]
    return max(times, default=None)


def _run_facts(
    features: TurnFeatures, runs: list[_CommandRun], recorded: set[str]
) -> Iterator[FactDraft]:
    lines: dict[str, Counter[str]] = defaultdict(Counter)
    ran: dict[str, list[_CommandRun]] = defaultdict(list)
    for run in runs:
        if (
            run.command.name not in recorded
            and not run.command.is_read_only
            and (not run.failed or not run.failures)
        ):
            lines[run.command.name][run.command.line] += 1
            ran[run.command.name].append(run)
    for name, counts in lines.items():
        run = ran[name][-1]
        line = min(counts, key=lambda text: (-counts[text], text))
        ending = " and failed" if run.failed else (" and passed" if run.command.is_test else "")
        times = f", {counts.total()} times" if counts.total() > 1 else ""
        source, command = _program(features, run.command), _entity(run.command)
        text = f"`{line}` was run{ending}{times}"
        draft = FactDraft(_RUN_RANK, source, "RAN", command, text, run.at)
        yield by_its_agent(draft, [one.call for one in ran[name]])


def _program(features: TurnFeatures, command: ShellCommand) -> EntityKey:
    """Return the program of a command; for a bare program or a script, what it was run for."""
    if command.name == command.program or "/" in command.program:
        return features.subject_beside(_entity(command))
    return EntityKey(TOOL, command.program)


def _package_facts(features: TurnFeatures, runs: list[_CommandRun]) -> Iterator[FactDraft]:
    for run in runs:
        for package in shell_commands.installed_packages(run.command) if not run.failed else ():
            is_dependency = shell_commands.is_dependency(run.command)
            verb = "added as a dependency" if is_dependency else "installed"
            text = f"`{package}` was {verb} with `{run.command.line}`"
            source = EntityKey(PACKAGE, package)
            draft = FactDraft(_PACKAGE_RANK, source, "ADDED", features.project, text, run.at)
            yield by_its_agent(draft, [run.call])


def _commit_facts(features: TurnFeatures) -> Iterator[FactDraft]:
    """Yield the messages of commits and the titles of pull requests."""
    for call in features.calls:
        if call.kind is not CallKind.RUN or not call.targets or call.call.is_error:
            continue
        shell = call.targets[0][:6000]
        for name, verb in _RECORDING_COMMANDS.items():
            start = shell.find(name)
            message = _message(shell[start + len(name) - 1 :]) if start >= 0 else ""
            if message:
                source = EntityKey(COMMAND, name)
                target = features.entity_in(message, source)
                text = f"{verb}: {message}"
                at = features.at(call)
                draft = FactDraft(_COMMIT_RANK, source, "RECORDED", target, text, at)
                yield by_its_agent(draft, [call])


def _message(arguments: str) -> str:
    quoted = _MESSAGE.search(arguments[:2000])
    if quoted:
        message = quoted.group(1) or quoted.group(2)
    else:
        heredoc = _HEREDOC_MESSAGE.search(arguments[:2000])
        message = heredoc.group(2) if heredoc else ""
    first_line = message.strip().split("\n")[0]
    return prose.shorten(_TRAILER.sub("", first_line), 200)


_EDIT_RANK, _MANIFEST_RANK = 5, 6


def file_change_facts(features: TurnFeatures) -> Iterator[FactDraft]:
    """Yield a fact for each written file, and one for each package added to a manifest."""
    calls: dict[str, list[ClassifiedCall]] = defaultdict(list)
    for call in features.calls:
        if call.kind in {CallKind.EDIT, CallKind.CREATE} and not call.call.is_error:
            for path in call.targets:
                calls[features.paths.file(path) or ""].append(call)
    for name in features.edited_files:
        yield by_its_agent(_file_change(features, name, calls[name]), calls[name])
        for call in calls[name]:
            for package in shell_commands.in_manifest(name, call.detail):
                text = f"`{package}` was added as a dependency in `{name}`"
                source = EntityKey(PACKAGE, package)
                at = features.at(call)
                draft = FactDraft(_MANIFEST_RANK, source, "ADDED", features.project, text, at)
                yield by_its_agent(draft, [call])


def _file_change(features: TurnFeatures, name: str, calls: list[ClassifiedCall]) -> FactDraft:
    file = EntityKey(FILE, name)
    is_created = any(call.kind is CallKind.CREATE for call in calls)
    verb = "written" if is_created else "edited"
    sentence = features.sentence_about(name, calls)
    why = prose.shorten(sentence, 260) if sentence else prose.shorten(features.prompt_summary, 160)
    change = max((_first_added(call.detail) for call in calls), key=lambda c: (len(c), c))
    text = f"`{name}` was {verb}: {why}" if sentence else f"`{name}` was {verb} when asked: {why}"
    if change and not sentence:
        text = f"{text} (`{change}`)"
    at = min((at for call in calls if (at := features.at(call))), default=features.turn.started_at)
    target = features.entity_in(sentence, file) if sentence else features.subject_beside(file)
    return FactDraft(_EDIT_RANK, file, "CREATED" if is_created else "MODIFIED", target, text, at)


def _first_added(change: str) -> str:
    added = change[:2000].partition("+ ")[2] if "+ " in change[:2000] else ""
    return prose.shorten(added.replace("`", "'"), 80)
