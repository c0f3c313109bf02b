"""Problems that a person reports: what fails, where, and what later shows that it no longer does.

It is resolved like a failure of a run: the same test, rule, command or kind of check passes later.
What is only edited, as the end of its turn says, is told as that.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from turnetl.base.model import Attribute
from turnetl.base.relations import FIXED_BY, REPORTED
from turnetl.episode_text import prose
from turnetl.extraction.structural import decisions, edit_sentences, failures, resolutions
from turnetl.extraction.structural import failure_patterns as patterns
from turnetl.extraction.structural.decisions import Statement
from turnetl.extraction.structural.failures import CommandFailure, FailureKind
from turnetl.extraction.structural.findings import (
    ERROR,
    FILE,
    SYMBOL,
    TEST,
    CompletedRun,
    EntityKey,
    FactDraft,
    FileEdit,
    RunHistory,
)
from turnetl.extraction.structural.problems import ASKS_WHY
from turnetl.extraction.structural.resolutions import Resolution
from turnetl.extraction.structural.shell_commands import is_ci_log
from turnetl.extraction.structural.turn_features import TurnFeatures

_RANK, _FIX_RANK = 2, 3
_KIND, _BETWEEN = "reported", " | "
_CI = "ci"
_CHECKS = {
    check: re.compile(rf"(?<![A-Za-z/._])(?:{words})(?![A-Za-z/]|\.\w)", re.IGNORECASE)
    for check, words in {
        "lint": r"\w{0,12}lint\w*|ruff|flake8|clippy|shellcheck|rubocop|checkstyle|biome|go vet"
        r"|staticcheck",
        "test": r"(?:unit|integration)?tests?|vitest|pytest|jest|mocha|rspec|nextest|ctest"
        r"|测试|テスト|pruebas",
        "build": r"builds?|compil\w+|bundle|cargo check|tsc|webpack|构建|编译|ビルド",
        "types": r"type[- ]?(?:check\w*|errors?)|mypy|(?:based)?pyright|tsc|typescript",
        "format": r"formatt?(?:ing|er)?|gofmt|fmt|prettier|black",
        _CI: r"(?<!npm )ci|pipelines?|github actions?|workflows?|(?:pr|status) checks"
        r"|gh (?:run|pr checks)",
    }.items()
}
_FAILS = re.compile(
    r"\b(?:fail\w*|broken?|breaks|red|errors?|warnings?|complain\w*|not pass\w*|crash\w*|hangs?"
    r"|hanging|flaky|time[sd]? out|timeouts?|issues?|fix|doesn't (?:pass|compile|build)|kaputt"
    r"|schl(?:ägt|agen)|fehl\w*|falla\w*)\b|失败|报错|エラー|失敗",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[.;!?]\s|\n")
_BEGINS_TO_FAIL = re.compile(
    r"\W{1,3}(?:(?:is|are|was|were|still|now|also|just|keeps?|has|have|looks?|seems?|on|in|of|for"
    r"|at|with|jobs?|suites?|runs?|steps?|stages?|checks?|commands?|outputs?|says?|gives?|reports?"
    rf"|shows?|does|do|did|cases?)\b|(?={_FAILS.pattern})).{{0,40}}",
    re.IGNORECASE,
)
"""What stands between a check and the word that it fails; another noun is no check."""
_FAILING = re.compile(r"(?: (?:in|of|on|from|with|by))?(?: (?:the|our|my|all|some|your))?\W{1,2}$")
_URL = re.compile(r"\w{2,8}://\S+|\w*\.\.+\w*")
_ALL_CHECKS = re.compile(r"(?<![a-z])(?:check|ci|verify|pre-commit|tox|nox|validate)(?![a-z])")
_OF_TYPES = re.compile(r"^TS\d{3,5}\b|^error\[|^undefined: |^[a-z]+(?:-[a-z]+)+ in \S+\.pyi?$")
_PROGRAMS = (
    r"(?:npm|pnpm|yarn|make|mise|go|cargo|docker|just|task|uv|python3?|node|bun|gradle|mvn"
    r"|terraform|pip|git|gh)"
)
_NAMED_COMMAND = re.compile(
    rf"`({_PROGRAMS} [^`\n]{{2,100}})`|\b(?:run|runs|running|ran|execute|executing) "
    rf"({_PROGRAMS}(?: (?!(?:gives?|prints?|says|fails?|shows?|returns?|throws?|and|the|then|in|on"
    r"|with|it|i|this|to)\b)[\w:./-]*\w){1,3})",
    re.IGNORECASE,
)
_NAMED_TEST = re.compile(r"(?<![\w/.-])(?:Test[A-Z]\w{2,80}(?:/[\w.-]{1,80})?|test_\w{2,80})\b")
_NAMED_PLACE = re.compile(
    r"`([A-Za-z_][\w.]{3,60})(?:\(\))?`|\b([a-z]\w{1,40}(?:_\w{2,40}|[A-Z]\w{1,40}))\b"
    r"|(?<![\w/])([\w@./-]{1,120}\.[a-z]{1,5})\b"
)
_FIXED_BY_USER = re.compile(
    r"\bI(?:'ve|'ve| have)? (?:just |already |now )?(?:fixed|solved|resolved|corrected)\b|\b(?:ist"
    r"|habe? ich) (?:schon )?(?:behoben|gefixt)\b|我(?:已经)?修(?:复|好)了",
    re.IGNORECASE,
)
_CLAIMS = re.compile(
    r"\b(?:fix(?:ed|es)|resolve[sd]|solve[sd]|corrected|addressed|no longer|the fix\b|works now"
    r"|(?:should|will) (?:now|no longer)|now (?:\w+ly )?[a-z]{3,}s\b|is gone|are gone|behoben"
    r"|gefixt|repariert|korrigiert|corregid[oa]|solucionad[oa]|arreglad[oa])\b|已?修复|已解决"
    r"|修正しました|直しました|解決しました",
    re.IGNORECASE,
)
_DENIES = re.compile(
    r"\b(?:not (?:yet )?(?:been )?(?:fixed|resolved)|still (?:fail\w*|broken|happens|open)"
    r"|couldn't|could not|unable to|(?:would you like|want) me to (?:fix|apply|implement|make|do)"
    r"|(?:should|shall) I (?:fix|apply|implement|make)|pre-existing|does(?:n't| not) fix|(?:to"
    r"|would|can|could) (?:fix|resolve) (?:this|it)\b|which (?:approach|option))",
    re.IGNORECASE,
)
_BECAUSE = re.compile(
    r"\b(?:because|since|due to|caused? by|(?:root )?cause|reason|happens (?:when|if)|that is why"
    r"|that's why|weil|Ursache|liegt daran|porque|causa)\b|因为|原因|ため",
    re.IGNORECASE,
)
_NOT_KNOWN = re.compile(
    r"\b(?:(?:don't|do not|doesn't) (?:yet )?know|not (?:yet )?(?:clear|sure|certain)|unclear"
    r"|unknown)\b|^API Error|^\[Request interrupted",
    re.IGNORECASE | re.MULTILINE,
)
_CLOSING_CHARS, _MIN_ANSWER = 1500, 40
_TEST_FILE = re.compile(r"(?:^|[/_.-])(?:tests?|spec)[/_.-]|(?:^|/)test_", re.IGNORECASE)
_INLINE_ERROR = re.compile(r"\b(?:(?:Error|ERROR|error|fatal|panic): ){1,3}([^\n`]{8,160})")
_MAX_PASTED, _SEVERAL, _SHORT_PROMPT = 2, 2, 1500


@dataclass(frozen=True, slots=True)
class ReportedProblem:
    """What decides whether a run shows that a reported problem is gone: attributes of its fact."""

    name: str
    location: str = ""
    tests: frozenset[str] = frozenset()
    checks: frozenset[str] = frozenset()
    """Kinds of checks that fail, by `_CHECKS`."""
    command: str = ""
    places: frozenset[str] = frozenset()
    """Symbols and files that the person names."""

    @classmethod
    def of(
        cls, failure: CommandFailure | None, said: str, name: str, file: str
    ) -> "ReportedProblem":
        """Read what fails from what a person says, with the failure that is quoted in it."""
        tests = {*_NAMED_TEST.findall(said)}
        said = _URL.sub(" ", said)
        checks = {check for clause in _CLAUSE.split(said) for check in _failing_checks(clause)}
        if failure is not None and failure.kind is FailureKind.TEST:
            tests |= {failure.name}
        elif failure is not None and failure.kind is FailureKind.FINDING:
            # What has no rule is the message of a compiler.
            is_rule = failure.message and not _OF_TYPES.search(failure.name)
            checks |= {"lint"} if is_rule else {"types", "build"}
        places = {next(filter(None, found)) for found in _NAMED_PLACE.findall(said)} - tests
        found = _NAMED_COMMAND.search(said)
        command = " ".join((found[1] or found[2]).split()) if found else ""
        return cls(name, file, frozenset(tests), frozenset(checks), command, frozenset(places))

    @classmethod
    def of_attributes(cls, name: str, attributes: Mapping[str, Attribute]) -> "ReportedProblem":
        def words(key: str) -> frozenset[str]:
            return frozenset(str(attributes.get(key, "")).split(_BETWEEN)) - {""}

        location, command = (str(attributes.get(key, "")) for key in ("location", "command"))
        return cls(name, location, words("tests"), words("checks"), command, words("places"))

    @property
    def names(self) -> tuple[str, ...]:
        """What an edit that fixes it may name, the surest first."""
        return (*sorted(self.tests), self.name, *sorted(self.places))

    def is_place(self, edit: FileEdit) -> bool:
        """Whether an edit is of the file, the symbol or the test that the report names."""
        files = (f"/{file.lstrip('./')}" for file in {self.location, *self.places} - {""})
        path = f"/{edit.file}"
        return any(path.endswith(file) or file.endswith(path) for file in files) or any(
            edit_sentences.is_named(part, name) for part in edit.parts for name in self.names
        )

    def is_meant(self, edit: FileEdit, turns: frozenset[str]) -> bool:
        """Whether an edit is of the turn of the report, or of what it names: others do more.

        Args:
            turns: ids of the turns of the report; none if it is the one that edits.
        """
        return (edit.turn_id in turns if turns else edit.index >= 0) or self.is_place(edit)

    def fixing_edit(self, edits: Sequence[FileEdit], turns: frozenset[str]) -> FileEdit | None:
        """Return the last edit of what the report names, else of the only file with code."""
        latest = [edit for edit in reversed(edits) if edit.file]
        if found := next(filter(self.is_place, latest), None):
            return found
        # A named test that passes is that of the report, also after an edit of another turn.
        if not (self.tests or self.command):
            latest = [edit for edit in latest if self.is_meant(edit, turns)]
        code = [edit for edit in latest if not _TEST_FILE.search(edit.file)] or latest
        return code[0] if code and len({edit.file for edit in code}) == 1 else None

    @property
    def attributes(self) -> dict[str, Attribute]:
        values = {
            "location": self.location,
            "tests": _BETWEEN.join(sorted(self.tests)),
            "checks": _BETWEEN.join(sorted(self.checks)),
            "command": self.command,
            "places": _BETWEEN.join(sorted(self.places)),
        }
        return {"kind": _KIND, **{key: value for key, value in values.items() if value}}

    @property
    def key(self) -> EntityKey:
        return EntityKey(ERROR, self.name)

    def is_tried_by(self, run: CompletedRun, edited: Collection[str] = ()) -> bool:
        """Whether a run passes or fails with what was reported.

        Args:
            edited: the files that may have solved it: a report without a place is about these.
        """
        if not run.is_shell:
            return False
        where = [self.location] if self.location else edited
        if self.tests:
            is_tests = run.is_check and "test" in _checks_of(run.line)
            return bool(self.tests & run.names) or (
                is_tests and resolutions.tries_tests(run.line, self.tests, where)
            )
        if self.command and not self.checks:
            return self.command in (run.line, run.source.name)
        if not run.is_check or not self.checks:
            return False
        if is_ci_log(run.line):
            return _CI in self.checks
        local = self.checks - {_CI}
        is_kind = not local.isdisjoint(_checks_of(run.line)) or _ALL_CHECKS.search(run.line)
        return bool(local and is_kind) and resolutions.is_whole(run.line, where)

    def is_shown_by(self, fact: FactDraft) -> bool:
        """Whether a failure of the turn is what was reported: by name, or of its kind of check."""
        if self.name in (fact.source.name, fact.target.name):
            return True
        line = str(fact.attributes.get("line", ""))
        of_line = {"ci", "test"} if is_ci_log(line) else _checks_of(line)
        is_unplaced = not (self.tests or self.location or self.command)
        return is_unplaced and not self.checks.isdisjoint(of_line)

    @property
    def is_general(self) -> bool:
        """Whether no test, check or command is known that shows the problem."""
        return not (self.tests or self.checks or self.command)

    def passes_in(self, run: CompletedRun) -> bool:
        return run.passed or bool(self.tests and self.tests <= run.names)


def _failing_checks(clause: str) -> Iterator[str]:
    """Yield the kinds of checks of which a clause says that they fail."""
    failing = [match.span() for match in _FAILS.finditer(clause)]
    for check, words in _CHECKS.items():
        for match in words.finditer(clause) if failing else ():
            follows = _BEGINS_TO_FAIL.match(clause, match.end())
            within = range(match.end(), follows.end() if follows else match.end())
            if any(start in within for start, _ in failing) or any(
                end <= match.start() and _FAILING.fullmatch(clause, end, match.start())
                for _, end in failing
            ):
                yield check


def _checks_of(text: str) -> frozenset[str]:
    return frozenset(check for check, words in _CHECKS.items() if words.search(text))


def reported_facts(features: TurnFeatures, reports: Sequence[Statement]) -> Iterator[FactDraft]:
    """Yield a fact for each problem that the user reports: pasted messages name the first ones."""
    prompt = prose.clip(features.turn.user_text, *prose.PROMPT_LIMITS)
    pasted = failures.pasted_failures(prompt, is_report=bool(reports))[:_MAX_PASTED]
    for index in range(max(len(pasted), len(reports))):
        sentence = reports[index].sentence if index < len(reports) else ""
        failure = pasted[index] if index < len(pasted) else None
        message = _INLINE_ERROR.search(sentence)
        name = failures.stable_name(message.group(1)) if message else decisions.name(sentence)
        text, file = sentence, ""
        if failure is not None:
            name = failure.name
            file = features.file_of(failure.location)
            text = _told(failure, file, sentence)
        # A long prompt tells of more than the problem.
        is_all = len(reports) < _SEVERAL and len(prompt) <= _SHORT_PROMPT
        problem = ReportedProblem.of(failure, prompt if is_all else sentence, name, file)
        attributes = {**problem.attributes, **resolutions.place(features.turn)}
        if _FIXED_BY_USER.search(sentence):
            attributes["resolution"] = str(Resolution.FIXED)
        elif ASKS_WHY.search(sentence) and _explains(features):
            attributes["resolution"] = str(Resolution.ANSWERED)
        at = features.turn.started_at
        yield FactDraft(
            _RANK,
            features.user,
            REPORTED,
            EntityKey(ERROR, name, TEST if failure and failure.kind is FailureKind.TEST else ""),
            f"The user reported: {text}",
            at,
            invalid_at=at if attributes.get("resolution") == Resolution.FIXED else None,
            attributes=attributes,
        )


def _told(failure: CommandFailure, file: str, sentence: str) -> str:
    """Return what failed, where and with what message, and what the person says before it."""
    where = f" in `{file}`" if file and file not in failure.name else ""
    told = f"`{failure.name}`{where}"
    if failure.message:
        is_test = failure.kind is FailureKind.TEST
        told += f" failed with `{failure.message}`" if is_test else f": {failure.message}"
    sentence = patterns.DIAGNOSTIC.split(sentence)[0]
    first = re.split(r"[/: ]", failure.name)[0]
    said = sentence.partition(first)[0] if first in sentence else sentence
    said = said.strip(" :`\"'(").removesuffix(" with")
    return f"{told} (\u201c{said}\u201d)" if len(said.split()) > 1 else told


def _explains(features: TurnFeatures) -> bool:
    """Whether a turn answers why something fails: it changes nothing and asks nothing back."""
    answer = features.turn.assistant_text.rstrip()
    if len(answer) < _MIN_ANSWER or answer.endswith("?") or features.edited_files:
        return False
    is_denied = _DENIES.search(answer[-_CLOSING_CHARS:]) or _NOT_KNOWN.search(answer)
    return _BECAUSE.search(answer) is not None and is_denied is None


def claims_fix(answer: str) -> bool:
    """Whether the end of a response says that something is fixed, and not that it is not."""
    ending = answer[-_CLOSING_CHARS:]
    return _CLAIMS.search(ending) is not None and _DENIES.search(ending) is None


@dataclass(frozen=True, slots=True)
class ReportEnd:
    """What came of a reported problem."""

    resolution: Resolution
    run: CompletedRun | None
    """The first that passes; None: no run shows it."""
    edits: tuple[FileEdit, ...]
    """Between the report, or the last run that failed, and the run."""


def end_of(
    problem: ReportedProblem,
    history: RunHistory,
    turns: frozenset[str] = frozenset(),
    *,
    is_known: bool = True,
) -> ReportEnd | None:
    """Return how the runs and edits of a turn end a problem that it, or one before, reports.

    Args:
        turns: ids of the turns that report it, if it is not this one.
        is_known: all turns between the report and this one are known.
    """
    edited = {edit.file for edit in history.edits if edit.file and problem.is_meant(edit, turns)}
    tried = [run for run in history.runs if problem.is_tried_by(run, edited)]
    failed = [at for at, run in enumerate(tried) if not problem.passes_in(run)]
    last = tried[failed[-1]] if failed else None
    after = tried[failed[-1] + 1 :] if failed else tried
    run = next((one for one in after if last is None or _repeats(problem, one, last)), None)
    is_ci = run is not None and is_ci_log(run.line)
    edits = [edit for edit in history.edits
             if resolutions.may_fix(edit, problem.location, is_ci=is_ci)]  # fmt: skip
    if run is None:
        own = [edit for edit in edits if edit.index >= 0 and edit.file]
        is_meant = not turns or any(problem.is_place(edit) for edit in own)
        if failed or not own or not is_meant:
            return None
        if history.claims_fix:
            return ReportEnd(Resolution.EDITED, None, tuple(own))
        # Which of the edits was for what is reported, nobody says.
        is_checked = problem.is_general and not turns and _is_checked(own, history.runs)
        return ReportEnd(Resolution.EDITED, None, ()) if is_checked else None
    since = last.index if last is not None else -2 if turns else -1
    between = tuple(edit for edit in edits if since < edit.index < run.index)
    if between:
        return ReportEnd(Resolution.FIXED, run, between)
    return ReportEnd(Resolution.PASSED_ON_RERUN if is_known else Resolution.PASSED, run, ())


def _is_checked(edits: Sequence[FileEdit], runs: Iterable[CompletedRun]) -> bool:
    """Whether a check passes after the last of some edits."""
    last = max(edit.index for edit in edits)
    return any(run.is_check and run.passed and run.index > last for run in runs)


def _repeats(problem: ReportedProblem, run: CompletedRun, failed: CompletedRun) -> bool:
    """Whether a run tries what failed again: the same line, the same program, or named tests."""
    is_named = bool(problem.tests) and problem.tests <= run.names
    return (
        is_named
        or run.line == failed.line
        or (run.source.name == failed.source.name and resolutions.is_whole(run.line))
    )


def fix_of(
    problem: ReportedProblem, end: ReportEnd, turns: frozenset[str] = frozenset()
) -> Iterator[FactDraft]:
    """Yield the edit that fixed a reported problem, if it can be told."""
    edits = [edit for edit in end.edits if edit.file]
    edit = problem.fixing_edit(edits, turns)
    if edit is None:
        return
    phrases = (edit_sentences.fix_phrase(edit.parts, one) for one in problem.names)
    is_only = [one.file for one in edits].count(edit.file) == 1
    why = edit.why or (next(filter(None, phrases), "") if is_only else "")
    told = f": {prose.shorten(why, 240)}" if why else ""
    text = f"The user reported `{problem.name}`: "
    if end.run is not None:
        text += f"`{end.run.line}` passed after `{edit.file}` was edited{told}"
    else:
        text += f"`{edit.file}` was edited afterwards{told}"
    symbol = next(
        (
            one
            for one in sorted(problem.places)
            if any(edit_sentences.is_definition(part, one) for part in edit.parts)
        ),
        "",
    )
    fixed = EntityKey(SYMBOL, symbol) if symbol else EntityKey(FILE, edit.file)
    at = (end.run.at if end.run else None) or edit.at
    yield FactDraft(_FIX_RANK, problem.key, FIXED_BY, fixed, text, at)


def with_causes(facts: Iterable[FactDraft], causes: Sequence[FactDraft]) -> Iterator[FactDraft]:
    """Yield facts; those of reports with the things that caused them: a later edit is of these."""
    for fact in facts:
        named = {one.target.name for one in causes if one.source == fact.target}
        if fact.relation == REPORTED and named:
            problem = ReportedProblem.of_attributes(fact.target.name, fact.attributes)
            problem = replace(problem, places=problem.places | named)
            yield replace(fact, attributes={**fact.attributes, **problem.attributes})
        else:
            yield fact


def with_ends(
    reported: Sequence[FactDraft], failed: Sequence[FactDraft], history: RunHistory
) -> Iterator[FactDraft]:
    """Yield what a turn reports with what its runs and edits say of it, and what fixed it.

    Args:
        failed: the FAILED_WITH facts of the turn: what is reported may fail in it, too.
    """
    for fact in reported:
        problem = ReportedProblem.of_attributes(fact.target.name, fact.attributes)
        shown = [one for one in failed if problem.is_shown_by(one)]
        passed = [one.invalid_at for one in shown if one.invalid_at is not None]
        end = None if fact.invalid_at else end_of(problem, history)
        if passed and len(passed) == len(shown):
            last = max(shown, key=lambda one: (one.attributes["resolution"] == "fixed", one.text))
            attributes = {**fact.attributes, "resolution": last.attributes["resolution"]}
            yield replace(fact, invalid_at=max(passed), attributes=attributes)
        elif end is None:
            yield fact
        else:
            attributes = {**fact.attributes, **resolutions.attributes(end.resolution, end.edits)}
            at = end.run.at if end.run else None
            yield replace(fact, invalid_at=at, attributes=attributes)
            yield from fix_of(problem, end)
