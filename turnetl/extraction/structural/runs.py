"""Failed runs and what resolved them: the same thing passes later in the session."""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from turnetl.base.model import Attribute, Fact, Turn
from turnetl.base.relations import FAILED_WITH, REPORTED
from turnetl.episode_text import prose
from turnetl.extraction.structural import failures, reports, resolutions
from turnetl.extraction.structural.failures import CommandFailure, FailureKind
from turnetl.extraction.structural.findings import (
    COMMAND,
    ERROR,
    TEST,
    TOOL,
    CompletedRun,
    EntityKey,
    FactDraft,
    FileEdit,
    RunHistory,
)
from turnetl.extraction.structural.resolutions import Resolution, RunFailure
from turnetl.extraction.structural.shell_commands import ShellCommand, commands, is_ci_log
from turnetl.extraction.structural.tool_calls import (
    BACKGROUND_READERS,
    FILE_KINDS,
    WRITE_KINDS,
    CallKind,
    ClassifiedCall,
    by_its_agent,
)
from turnetl.extraction.structural.turn_features import ProjectPaths, TurnFeatures, project_paths
from turnetl.graph.mirror.group import GroupView


@dataclass(frozen=True, slots=True)
class _Run:
    completed: CompletedRun
    call: ClassifiedCall
    failures: tuple[CommandFailure, ...] = ()
    lists_all: bool = False


_FAILURE_RANK, _SLIP_RANK = 4, 9
_BACKGROUND = re.compile(
    r"[^\n]{0,80}\b(?:Command|Process)(?:[^\n]{0,60} (?:in|to) (?:the )?background[^\n]{0,40}"
    r"|(?: is)? running with session) ?ID:? ?([\w-]{1,40})|\s{0,20}(?:Command"
    r"|Process)[^\n]{0,60} (?:in|to) (?:the )?background|<status>running"
)
_BACKGROUND_ID = re.compile(r'"(?:bash_id|shell_id|task_id|session_id|id)"\s?:\s?"?([\w-]{1,40})')
_AMPERSAND = re.compile(r"(?<![&>|])&(?![&>\d])(?=\s|$)")
_WORKDIR = re.compile(r'"(?:workdir|cwd|dir_path|directory)"\s?:\s?"([^"\\]{1,240})"')
_FILTERED_OUTPUT = re.compile(r"\|\s{0,3}(?:grep|rg|awk|sed|head)\b")
_RAN = re.compile(r"\b(?:ok|PASS(?:ED)?|passed|passing|Success|0 (?:errors|failures|issues))\b")
_NO_TESTS = re.compile(r"no tests (?:to run|ran|found)|no test files")
_FAILED_TASK = re.compile(r"^\[([\w:-]{1,40})\] ERROR task failed", re.MULTILINE)
_CHANGING = re.compile(
    r"\b(?:fmt|format|gofmt|prettier|black|install|tidy|sync|upgrade|update|generate|codegen|migrate"
    r"|checkout|switch|stash|restore|reset|pull|merge|rebase|cherry-pick|revert|apply|patch|mv|rm"
    r"|cp|tee|export|chmod|kill|pkill)\b|--fix\b|--write\b|\bsed -i|\bperl -p?i|>\s?[\w./~$\"']"
)
_PUSHES = re.compile(r"\bgit push\b|\bgh pr (?:merge|create)\b")
_DELEGATED_CHANGE = re.compile(
    r"^\W{0,3}(?:please |you are to )?(?:fix|implement|add|change|update|refactor|rewrite|resolve"
    r"|repair|correct|apply|migrate|write|remove)\b",
    re.IGNORECASE,
)
"""The task of a subagent whose calls are not in the archive."""
_NO_FILE = re.compile(r"\d?>{1,2}\s?(?:/dev/null|/tmp/\S{1,100}|&\d)")
_ABOUT_FAILURE = re.compile(r"\b(?:fix|fail|error|test|lint|expect|compil|type)", re.IGNORECASE)
_ANSWERING = frozenset({CallKind.MCP, CallKind.OTHER})
_SAYS_ERROR = re.compile(
    r"\s{0,20}(?:[Ee]rror:|ERROR:|\{\s{0,20}\"error\"\s?:\s?(?!null|false|\"\"|0\b))"
)
_SCRIPT = re.compile(r"(?:python|node|ruby|perl|bash|sh|zsh|deno|bun|php|uv|swift)[\d.]{0,6}")
_SHOWING = frozenset(
    {"cat", "tail", "head", "less", "more", "sed", "awk", "grep", "egrep", "rg", "jq", "find"}
    | {"ls", "diff", "journalctl", "printf"}
)
_SHOWS = re.compile(r" (?:diff|show|logs?|view|api|grep|blame|cat-file|describe|list)$")
"""Commands that print texts of others."""
_TELLING = frozenset({"curl", "wget", "ssh", "scp", "rsync", "sqlite3", "jq"})
"""Utilities whose failure tells about the project or its servers."""
_INLINE = re.compile(r"\s(?:-[ce]|--eval|-)\s|<<")
_PROGRAM = re.compile(
    r"(?:^|&&|\|\||;|\n)\s{0,8}(?:\w{1,40}=\S{0,80} )?([a-z][\w.+-]{0,30})(?=\s|$)"
)
_PATH_ARGUMENT = re.compile(r'"(?:path|file_path)"\s?:\s?"([^"\\]{1,240})"')
_MAX_SLIPS = 2
"""Failed calls of other tools than the shell that are kept of a turn."""
_SAME_BRANCH = timedelta(days=1)
_MAX_ENDED = 20
"""Failures of earlier turns that one turn ends."""


def run_findings(
    features: TurnFeatures,
    earlier: Sequence[tuple[Turn, Sequence[ClassifiedCall]]],
    reported: Sequence[FactDraft] = (),
) -> tuple[list[FactDraft], RunHistory]:
    """Return the failures of a turn with what resolved them in it, and what may resolve others.

    Args:
        earlier: the turns of the session before it with their calls, oldest first.
        reported: the REPORTED facts of the turn, which are returned with what came of them.
    """
    runs = [*_runs(features.calls, features.turn)]
    edits = [*_edits(features.calls, features.turn, features.paths, features.sentence_about)]
    before = [
        replace(edit, index=-1, turn_id=turn.turn_id)
        for turn, of_turn in earlier
        for edit in _edits(of_turn, turn, _paths(turn))
    ]
    history = RunHistory(
        tuple(run.completed for run in runs if run.completed.passed or _is_telling(run.completed)),
        (*before, *edits),
        frozenset(turn.turn_id for turn, _ in earlier),
        reports.claims_fix(features.turn.assistant_text),
    )
    facts = [
        fact
        for failure, failed in _by_failure(runs)
        for fact in _failure_facts(features, runs, history, failure, failed)
    ]
    found = [*_limited(facts), *reports.with_ends(reported, facts, history)]
    has_shell = any(run.is_shell for run in history.runs)
    return found, history if has_shell or (edits and history.claims_fix) else RunHistory()


def _is_telling(run: CompletedRun) -> bool:
    """Whether a run that failed says something of what is reported, or names what passed."""
    return bool(run.names) or run.is_shell


def resolve_earlier(
    turn: Turn, history: RunHistory, group: GroupView
) -> tuple[list[Fact], list[FactDraft]]:
    """Return the failures of earlier turns that the turn ends or edits, and what fixed them."""
    ended: dict[str, Fact] = {}
    fixes: list[FactDraft] = []
    is_empty = not (history.runs or history.edits)
    for fact in () if is_empty else _open_failures(turn, group):
        if len(ended) >= _MAX_ENDED:
            break
        is_known = not history.context.isdisjoint(fact.turns)
        since = replace(
            history,
            runs=tuple(run for run in history.runs if _is_later(run, fact)),
            edits=tuple(edit for edit in history.edits if edit.index >= 0 or _is_after(edit, fact)),
        )
        if fact.relation == REPORTED:
            end, fixed = _report_end(fact, since, group, is_known=is_known)
        else:
            end, fixed = _failure_end(fact, since, group, is_known=is_known)
        known = fact.attributes.get("resolution")
        if end is not None and end[0]["resolution"] != known:
            attributes = {**fact.attributes, **end[0]}
            if known == Resolution.EDITED and end[1] is not None:
                # What passes confirms the edit that its turn claimed.
                attributes["resolution"] = str(Resolution.FIXED)
            ended[fact.uuid] = replace(fact, invalid_at=end[1], attributes=attributes)
            fixes += fixed
    return [*ended.values()], fixes


_End = tuple[dict[str, Attribute], datetime | None]
"""What a failure says of its end, and when it ended; None: it still holds."""


def _report_end(
    fact: Fact, history: RunHistory, group: GroupView, *, is_known: bool
) -> tuple[_End | None, Iterable[FactDraft]]:
    target = group.entity(fact.target)
    problem = reports.ReportedProblem.of_attributes(target.name if target else "", fact.attributes)
    turns = frozenset(fact.turns)
    end = reports.end_of(problem, history, turns, is_known=is_known)
    if end is None:
        return None, ()
    ended = resolutions.attributes(end.resolution, end.edits), end.run.at if end.run else None
    return ended, reports.fix_of(problem, end, turns)


def _failure_end(
    fact: Fact, history: RunHistory, group: GroupView, *, is_known: bool
) -> tuple[_End | None, Iterable[FactDraft]]:
    failed = _failed(fact, group)
    run = next(
        (one for one in history.runs if resolutions.covers(one, failed, is_same_turn=False)), None
    )
    is_ci = is_ci_log(failed.line)
    edits = [
        edit
        for edit in history.edits
        if resolutions.may_fix(edit, failed.location, is_ci=is_ci)
        and (run is None or edit.index < run.index)
    ]
    if run is not None and run.at is not None:
        resolution = resolutions.resolution_of(run, failed, edits, is_known=is_known)
        ended = resolutions.attributes(resolution, edits), run.at
        return ended, resolutions.fixes(failed, run, edits)
    own = [edit for edit in edits if edit.index >= 0]
    is_edited = history.claims_fix and resolutions.place_edit(failed, own) is not None
    return (({"resolution": str(Resolution.EDITED)}, None) if is_edited else None), ()


def _open_failures(turn: Turn, group: GroupView) -> Iterator[Fact]:
    """Yield the failures of earlier turns of the session, and of its branch within a day."""
    found = [*group.valid_facts_with("session", turn.session_id)]
    if branch := resolutions.place(turn).get("branch"):
        found += [
            fact
            for fact in group.valid_facts_with("branch", str(branch))
            if turn.started_at and fact.valid_at and turn.started_at - fact.valid_at <= _SAME_BRANCH
        ]
    unique = {fact.uuid: fact for fact in found if fact.relation in (FAILED_WITH, REPORTED)}
    yield from (fact for fact in unique.values() if turn.turn_id not in fact.turns)


def _failed(fact: Fact, group: GroupView) -> RunFailure:
    line, command, kind, location, package, cwd = (
        str(fact.attributes.get(name, ""))
        for name in ("line", "command", "kind", "location", "package", "cwd")
    )
    source, target = group.entity(fact.source), group.entity(fact.target)
    failed = source if source is not None and TEST in source.labels else target
    return RunFailure(
        failed.name if failed else "",
        command,
        line,
        FailureKind(kind) if kind in {*FailureKind} else FailureKind.ERROR,
        location,
        package,
        cwd,
    )


def _is_later(run: CompletedRun, fact: Fact) -> bool:
    # Turns may arrive late: a success does not end a failure that happened after it.
    return fact.valid_at is None or run.at is None or fact.valid_at <= run.at


def _is_after(edit: FileEdit, fact: Fact) -> bool:
    return edit.at is None or fact.valid_at is None or edit.at >= fact.valid_at


def _by_failure(runs: Sequence[_Run]) -> Iterator[tuple[CommandFailure, list[_Run]]]:
    """Yield each thing that failed with its runs, which one command made."""
    failed: dict[tuple[str, str], tuple[CommandFailure, list[_Run]]] = {}
    has_more = any(not one.is_job for run in runs for one in run.failures)
    for run in runs:
        # That a job failed is told only if no log says why.
        for failure in (one for one in run.failures if not (one.is_job and has_more)):
            key = run.completed.source.name, failure.name
            failed.setdefault(key, (failure, []))[1].append(run)
    yield from failed.values()


def _failure_facts(
    features: TurnFeatures,
    runs: Sequence[_Run],
    history: RunHistory,
    failure: CommandFailure,
    failed_runs: Sequence[_Run],
) -> Iterator[FactDraft]:
    first, last = failed_runs[0].completed, failed_runs[-1].completed
    location = features.file_of(failure.location)
    failed = RunFailure(
        failure.name,
        first.source.name,
        min(run.completed.line for run in failed_runs),
        failure.kind,
        location,
        failure.package,
        first.cwd,
    )
    later = (run for run in runs if run.completed.index > last.index)
    lines = {run.completed.line: replace(failed, line=run.completed.line) for run in failed_runs}
    passing = next(
        (run for run in later if any(_shows_pass(run, one) for one in lines.values())), None
    )
    passed = passing.completed if passing else None
    is_ci = is_ci_log(failed.line)
    between = [
        edit
        for edit in history.edits
        if edit.index > last.index
        and (passed is None or edit.index < passed.index)
        and resolutions.may_fix(edit, failed.location, is_ci=is_ci)
    ]
    attributes = {**failed.attributes, **resolutions.place(features.turn)}
    if passed is not None:
        resolution = resolutions.resolution_of(passed, failed, between, is_known=True)
        attributes |= resolutions.attributes(resolution, between)
    elif history.claims_fix and resolutions.place_edit(failed, between) is not None:
        attributes["resolution"] = str(Resolution.EDITED)
    calls = [run.call for run in failed_runs]
    draft = FactDraft(
        _SLIP_RANK if failure.kind is FailureKind.CALL else _FAILURE_RANK,
        replace(failed.key, second_label="") if failure.has_own_error else first.source,
        FAILED_WITH,
        EntityKey(ERROR, failures.stable_name(failure.message))
        if failure.has_own_error
        else failed.key,
        _statement(failed, failure),
        min((run.completed.at for run in failed_runs if run.completed.at), default=None),
        invalid_at=max((run.at for run in (passed, last) if run and run.at), default=None)
        if passed
        else None,
        attributes=attributes,
    )
    yield by_its_agent(draft, calls)
    if passing is not None:
        for fix in resolutions.fixes(failed, passing.completed, between):
            yield by_its_agent(fix, [*calls, passing.call])


def _statement(failed: RunFailure, failure: CommandFailure) -> str:
    if failure.has_own_error:
        where = f" in `{failed.location}`" if failed.location else ""
        return f"`{failed.name}`{where} failed with `{failure.message}` ({failed.ran})"
    is_cut = failed.name.endswith("…")
    text = failed.sentence(failure.message if is_cut else "")
    if failed.location and failed.location not in failed.name:
        text += f" in `{failed.location}`"
    return text if is_cut or not failure.message else f"{text}: {failure.message}"


def _shows_pass(run: _Run, failed: RunFailure) -> bool:
    if resolutions.covers(run.completed, failed, is_same_turn=True):
        return True
    # A compiler or a linter lists all that it finds: what it lists no more is resolved.
    return (
        failed.kind is FailureKind.FINDING
        and run.lists_all
        and run.completed.line == failed.line
        and resolutions.is_same_place(run.completed, failed)
        and failed.name not in (failure.name for failure in run.failures)
    )


def _limited(facts: Iterable[FactDraft]) -> list[FactDraft]:
    """Return the facts without those of most calls of other tools than the shell."""
    kept = list(facts)
    slips = [fact for fact in kept if fact.rank == _SLIP_RANK]
    return [fact for fact in kept if fact not in slips[_MAX_SLIPS:]]


def _paths(turn: Turn) -> ProjectPaths:
    return project_paths(turn.group_id, turn.cwd, turn.git_branch)


def _edits(
    calls: Iterable[ClassifiedCall],
    turn: Turn,
    paths: ProjectPaths,
    why: Callable[[str, Sequence[ClassifiedCall]], str] = lambda *_: "",
) -> Iterator[FileEdit]:
    calls = [*calls]
    has_steps = any(call.run is not None for call in calls)
    for index, call in enumerate(calls):
        at = call.call.ended_at or turn.started_at
        if call.rejected or call.call.is_error:
            continue
        if call.kind in WRITE_KINDS:
            for path in call.targets:
                name = paths.file(path) or ""
                sentence = why(name, [call]) if name else ""
                told = sentence if _ABOUT_FAILURE.search(sentence) else ""
                parts = tuple(change for change in call.changes if change.path in {"", path})
                change = call.detail or call.call.input[:20_000]
                yield FileEdit(index, at, name, change, prose.shorten(told, 240), parts)
        elif call.kind is CallKind.RUN and any(map(_changes_files, call.targets)):
            yield FileEdit(index, at, "")
        elif call.kind is CallKind.RUN and any(map(_PUSHES.search, call.targets)):
            yield FileEdit(index, at, "", resolutions.PUSH)
        elif not has_steps and _delegates_change(call):
            yield FileEdit(index, at, "", why=prose.shorten(call.call.result, 240))


def _delegates_change(call: ClassifiedCall) -> bool:
    tasks = call.targets if call.kind is CallKind.DELEGATE else ()
    return any(_DELEGATED_CHANGE.search(task[:200]) for task in tasks)


def _changes_files(shell: str) -> bool:
    # The message of a commit may name what programs do.
    shell = shell[:4000].partition("git commit")[0]
    return _CHANGING.search(_NO_FILE.sub("", shell)) is not None


def _runs(calls: Iterable[ClassifiedCall], turn: Turn) -> Iterator[_Run]:
    started: dict[str, ClassifiedCall] = {}
    for index, one in enumerate(calls):
        call = _of_background(one, started)
        at = call.call.ended_at or turn.started_at
        if call.rejected:
            continue
        if call.kind is CallKind.RUN and call.targets:
            yield from _command_runs(index, call, at)
        elif call.kind is not CallKind.RUN:
            yield from _tool_runs(index, call, at)


def _of_background(call: ClassifiedCall, started: dict[str, ClassifiedCall]) -> ClassifiedCall:
    """Return a call that reads the output of a background run as that run with this output."""
    if call.kind is CallKind.RUN:
        if (found := _BACKGROUND.match(call.call.result)) and found[1]:
            started[found[1]] = call
        return call
    is_reader = call.call.name.casefold() in BACKGROUND_READERS
    read = _BACKGROUND_ID.search(call.call.input[:2000]) if is_reader else None
    run = started.get(read[1]) if read else None
    if run is None:
        return call
    return replace(run, call=replace(call.call, input=run.call.input))


def _command_runs(index: int, call: ClassifiedCall, at: datetime | None) -> Iterator[_Run]:
    shell = call.targets[0]
    parsed = commands(shell)
    text = failures.printed(call.call.result)
    is_error = call.call.is_error or failures.says_exit_status(text) or _stops(parsed, shell, text)
    is_log = any(is_ci_log(command.line) for command in parsed)
    is_error |= is_log and ("##[error]" in call.call.result or "--log-failed" in shell)
    if not parsed:
        yield from _utility_runs(index, call, at, text, is_error=is_error)
        return
    suspect = _suspect(parsed, text, is_error=is_error)
    found = _found(suspect, call, text, is_error=is_error) if suspect else []
    is_unknown = bool(_BACKGROUND.match(text) or _AMPERSAND.search(shell))
    workdir = _WORKDIR.search(call.call.input[:4000])
    for command in parsed:
        is_check, is_suspect = command.is_test or is_ci_log(command.line), command is suspect
        failed = is_suspect and (is_error or bool(found)) and not is_unknown
        passed = not (failed or is_unknown) and (
            failures.says_ci_passed(text)
            if is_ci_log(command.line)
            else not is_check or _has_passed(text, shell, is_error=is_error and is_suspect)
        )
        names: frozenset[str] = frozenset()
        if is_check and not is_unknown:
            names = failures.passed_tests(text) | failures.passed_jobs(text)
        cwd = posixpath.join(workdir[1] if workdir else "", command.cwd)
        source = _source(command)
        completed = CompletedRun(
            index, source, command.line, at, passed, is_check, names, cwd=cwd.rstrip("/")
        )
        listed = tuple(found) if failed else ()
        yield _Run(completed, call, listed, bool(listed) and not _FILTERED_OUTPUT.search(shell))
        # Commands after the failed one did not run.
        if failed:
            break


def _stops(parsed: Sequence[ShellCommand], shell: str, text: str) -> bool:
    """Whether the last program of a shell line says why it stops, whatever status it is given.

    The exit status of a pipe is that of its last program. Some programs show texts of others, and
    those that test say at their end what failed.
    """
    shows = any(one.is_test or _SHOWS.search(one.name) or is_ci_log(one.line) for one in parsed)
    is_own = not shows and _SHOWING.isdisjoint(_PROGRAM.findall(shell[:2000]))
    return is_own and failures.ends_with_error(text, shell)


def _utility_runs(
    index: int, call: ClassifiedCall, at: datetime | None, text: str, *, is_error: bool
) -> Iterator[_Run]:
    """Yield a run of a program that is named nowhere else: `curl`, `python3 script.py`.

    A program that only looks for something fails without an error of the project.
    """
    shell = call.targets[0]
    programs = [name for name in _PROGRAM.findall(shell[:2000]) if name != "cd"]
    telling = [name for name in programs if _SCRIPT.fullmatch(name) or name in _TELLING]
    if not programs:
        return
    line = prose.shorten(shell.replace("`", "'"), 120)
    program = (telling or programs)[0]
    is_script = _SCRIPT.fullmatch(program) is not None
    found = failures.failed_tests(text) if is_script else []
    if is_error and telling and not found:
        found = failures.program_failures(text, shell, is_script=is_script)
        # What the agent tries in a line of code is not a program of the project.
        is_tried = is_script and _INLINE.search(shell[:2000])
        found = [one for one in found if not is_tried or one.location]
    source = EntityKey(COMMAND, program, second_label=TOOL)
    passed = not (is_error or found)
    completed = CompletedRun(index, source, line, at, passed, is_check=False)
    yield _Run(completed, call, tuple(found))


def _suspect(parsed: Sequence[ShellCommand], text: str, *, is_error: bool) -> ShellCommand | None:
    """Return the command that most likely failed: that of the failed task, a test, or the last."""
    task = _FAILED_TASK.search(text)
    if task and (named := [one for one in parsed if one.name.endswith(f" {task[1]}")]):
        return named[0]
    checks = [command for command in parsed if command.is_test or is_ci_log(command.line)]
    if checks:
        return checks[-1]
    return parsed[-1] if is_error else None


def _found(
    command: ShellCommand, call: ClassifiedCall, text: str, *, is_error: bool
) -> list[CommandFailure]:
    shell = call.targets[0]
    if is_ci_log(command.line):
        return failures.ci_failures(text, call.call.result, is_error=is_error)
    if command.is_test:
        listed = failures.check_failures(text, is_error=is_error)
        return listed or (failures.unlisted_failure(text) if is_error else [])
    if command.is_read_only:
        return failures.program_failures(text, shell) if is_error else []
    if not is_error:
        return failures.failed_tests(text)
    return failures.error_failures(text)


def _has_passed(text: str, shell: str, *, is_error: bool) -> bool:
    if is_error or failures.has_failed_summary(text):
        return False
    has_ran = _RAN.search(text) is not None
    if _NO_TESTS.search(text) and not has_ran:
        return False
    return has_ran or not _FILTERED_OUTPUT.search(shell)


def _source(command: ShellCommand) -> EntityKey:
    is_program = command.name == command.program and "/" not in command.name
    return EntityKey(COMMAND, command.name, second_label=TOOL if is_program else "")


def _tool_runs(index: int, call: ClassifiedCall, at: datetime | None) -> Iterator[_Run]:
    """Yield a call of another tool than the shell: of a file, of an MCP server."""
    if not call.call.name.strip():
        return
    path = ""
    if call.kind in FILE_KINDS and call.targets:
        path = call.targets[0]
    elif match := _PATH_ARGUMENT.search(call.call.input[:2000]):
        path = match[1]
    is_mcp = call.kind is CallKind.MCP and bool(call.targets)
    name = prose.shorten(f"{call.targets[0]} {call.detail}" if is_mcp else call.call.name, 60)
    source = EntityKey(COMMAND, name, second_label="" if is_mcp else TOOL)
    says_error = call.kind in _ANSWERING and _SAYS_ERROR.match(call.call.result) is not None
    failed = call.call.is_error or says_error
    completed = CompletedRun(
        index, source, path[:240], at, not failed, is_check=False, is_shell=False
    )
    yield _Run(completed, call, tuple(_call_failures(call)) if failed else ())


def _call_failures(call: ClassifiedCall) -> Iterator[CommandFailure]:
    """Yield what a tool of the project or of a server answers in place of a result."""
    result = call.call.result[:1000].strip().removeprefix("Error: ")
    name = failures.stable_name(result.partition("\n")[0].partition(". ")[0])
    if name and call.kind in _ANSWERING and not call.is_slip:
        yield CommandFailure(name, "", FailureKind.CALL)
