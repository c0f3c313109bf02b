"""Facts from the tool calls of a turn: commands and their failures, other tools."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from turnetl.extraction.structural import failures, prose
from turnetl.extraction.structural.failures import CommandFailure
from turnetl.extraction.structural.findings import (
    COMMAND,
    CONCEPT,
    ERROR,
    FILE,
    TOOL,
    CommandSuccess,
    EntityKey,
    FactDraft,
)
from turnetl.extraction.structural.shell_commands import ShellCommand, commands
from turnetl.extraction.structural.tool_calls import CallKind, ClassifiedCall, by_its_agent
from turnetl.extraction.structural.turn_features import TurnFeatures

_FAILURE_RANK, _RUN_RANK = 4, 12
_RECORDING_COMMANDS = frozenset({"git commit", "gh pr create"})
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
    facts = [*_failure_facts(features, runs), *_run_facts(features, runs)]
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


def _run_facts(features: TurnFeatures, runs: list[_CommandRun]) -> Iterator[FactDraft]:
    lines: dict[str, Counter[str]] = defaultdict(Counter)
    ran: dict[str, list[_CommandRun]] = defaultdict(list)
    for run in runs:
        if (
            run.command.name not in _RECORDING_COMMANDS
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


_USE_RANK = 11
_URL = re.compile(r"^https?://(?:www\.)?([\w.-]{3,80})(/[^\s?#]{0,100})?")


def tool_facts(features: TurnFeatures) -> Iterator[FactDraft]:
    """Yield a fact for each MCP server, skill, web search and web page that the agent used."""
    servers: dict[str, list[ClassifiedCall]] = defaultdict(list)
    for call in features.calls:
        at = features.at(call)
        match call.kind:
            case _ if not call.targets or call.call.is_error:
                continue
            case CallKind.MCP:
                servers[prose.shorten(call.targets[0], 60)].append(call)
            case CallKind.SKILL:
                skill = prose.shorten(call.targets[0], 60)
                yield _use(features, skill, f"The skill `{skill}` was used", at, [call])
            case CallKind.SEARCH:
                text = f"The web was searched for: {prose.shorten(call.targets[0], 200)}"
                yield _use(features, "web search", text, at, [call])
            case CallKind.FETCH:
                yield from _fetch_facts(features, call)
    for server, calls in servers.items():
        names = sorted({call.detail for call in calls})[:6]
        text = f"`{server}` was used: {', '.join(f'`{name}`' for name in names)}"
        yield _use(features, server, text, features.turn.started_at, calls)


def _use(
    features: TurnFeatures,
    name: str,
    text: str,
    at: datetime | None,
    calls: Sequence[ClassifiedCall],
) -> FactDraft:
    tool = EntityKey(TOOL, name)
    draft = FactDraft(_USE_RANK, tool, "USED", features.subject_beside(tool), text, at)
    return by_its_agent(draft, calls)


def _fetch_facts(features: TurnFeatures, call: ClassifiedCall) -> Iterator[FactDraft]:
    url = _URL.match(call.targets[0][:300])
    if url:
        page = f"{url.group(1)}{url.group(2) or ''}".rstrip("/")
        why = prose.shorten(prose.plain(call.detail[:1000]), 160)
        text = f"`{page}` was read" + (f" to learn: {why}" if why else "")
        yield _use(features, url.group(1), text, features.at(call), [call])
