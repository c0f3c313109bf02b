"""Facts about commits and pull requests: which files and tickets they are of, what they undo."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from turnetl.base import ids
from turnetl.base.model import Fact, GroupId, Turn
from turnetl.base.relations import COMMITTED, DEPENDS_ON, EDITS
from turnetl.episode_text import prose
from turnetl.extraction.structural import shell_commands
from turnetl.extraction.structural.edits import TEST_FILE
from turnetl.extraction.structural.findings import (
    BRANCH,
    COMMIT,
    FILE,
    PULL_REQUEST,
    TICKET,
    EntityKey,
    FactDraft,
    UndoneCommit,
    UndoneEdits,
)
from turnetl.extraction.structural.shell_commands import ShellCommand, commands
from turnetl.extraction.structural.tool_calls import (
    WRITE_KINDS,
    CallKind,
    ClassifiedCall,
    by_its_agent,
)
from turnetl.extraction.structural.turn_features import TurnFeatures
from turnetl.graph.mirror.group import GroupView

_RANK = 3
_COMMIT, _OPEN = "git commit", "gh pr create"
_HEREDOC_MESSAGE = re.compile(r"<<-?\s?['\"]?([A-Z]{2,10})['\"]?\s{1,20}(\S[^\n]{2,300})(?:\n|$)")
_MESSAGE = re.compile(
    r"\s(?:-a?m|--message|--title|-t)[ =]\s{0,3}(?:\"((?!\$\()(?:[^\"\\]|\\.){3,600})"
    r"|'([^']{3,600}))"
)
_TRAILER = re.compile(r"(?:\s{2,}|🤖|Co-Authored-By|\bEOF\b).*$", re.DOTALL)
_HASH = re.compile(r"\[[\w./()# -]{1,200} ([0-9a-f]{7,12})\] (\S[^\n]{0,150}\S)")
"""What `git commit` prints: hash and first line of the message."""
_OPENED = re.compile(r"https://github\.com/([\w.-]{1,60}/[\w.-]{1,80}/pull/\d{1,7})")
_TICKET = re.compile(r"\b[A-Z][A-Z\d]{1,9}-\d{1,6}\b|(?<![\w/])#\d{1,6}\b")
_BACK = re.compile(r"HEAD(?:(\^+)|~(\d{1,2})?)")
_AMENDS = re.compile(r"^[^\n|&;]{0,400}\s--amend\b")
_MIN_HASH, _MIN_WORDS = 6, 2
"""Letters of a hash; words of a message that says something: not `wip`."""
_MAX_SHELL, _MAX_FILES = 6000, 2


def commit_facts(
    features: TurnFeatures, earlier: Iterable[Sequence[ClassifiedCall]]
) -> list[FactDraft]:
    """Return the facts about commits and pull requests of a turn.

    `earlier` has the calls of the turns of the session before it, oldest first.

    A commit is of the files that were added to it by name, else of those edited since the one
    before, in this turn or in those before it. One that the turn amends is told as it is then.
    """
    found: list[FactDraft] = []
    before, written = Counter[str](), Counter(_written(features, (c for cs in earlier for c in cs)))
    for call in features.calls:
        if call.kind is not CallKind.RUN or not call.targets or not call.took_place:
            written.update(_written(features, [call]))
            continue
        shell = call.targets[0][:_MAX_SHELL]
        for command in commands(shell) if "git reset" in shell else ():
            found = _without_last(found, _commits_reset(command))
        for name in (_COMMIT, _OPEN):
            start = shell.find(name)
            if start < 0:
                continue
            arguments = shell[start + len(name) - 1 :]
            is_amended = name == _COMMIT and _AMENDS.search(arguments) is not None
            files = before + written if is_amended else written
            facts = [*_recorded(features, call, name == _COMMIT, arguments, files)]
            found = _without_last(found, 1) if facts and is_amended else found
            found += facts
            if name == _COMMIT:
                before, written = files, Counter()
    return found


def _without_last(facts: list[FactDraft], count: int) -> list[FactDraft]:
    """Return the facts without those about the last commits."""
    commits = list(dict.fromkeys(one.source for one in facts if one.source.label == COMMIT))
    gone = commits[len(commits) - min(count, len(commits)) :]
    return [one for one in facts if one.source not in gone]


def _written(features: TurnFeatures, calls: Iterable[ClassifiedCall]) -> Iterator[str]:
    for call in calls:
        if call.kind in WRITE_KINDS and call.took_place:
            yield from (file for path in call.targets if (file := features.paths.file(path)))


def _recorded(
    features: TurnFeatures,
    call: ClassifiedCall,
    is_commit: bool,
    arguments: str,
    written: Counter[str],
) -> Iterator[FactDraft]:
    branch = features.turn.git_branch or ""
    found = (_HASH if is_commit else _OPENED).search(call.call.result)
    message = found.group(2) if found and is_commit else _message(arguments)
    if len(message.split()) < _MIN_WORDS:
        return
    number = found.group(1).replace("/pull/", "#") if found else message
    source = EntityKey(COMMIT if is_commit else PULL_REQUEST, number)
    what = "Commit" if is_commit else "Pull request"
    text = f"{what} `{number}`: {message}" if found else f"{what}: {message}"
    tickets = _TICKET.findall(f"{message} {branch.upper()}")
    files = _added(features, call) or [file for file, _ in written.most_common()]
    files.sort(key=lambda file: bool(TEST_FILE.search(file)))
    targets = [
        *(EntityKey(TICKET, ticket) for ticket in tickets[:1]),
        *(EntityKey(FILE, file) for file in files[:_MAX_FILES] if is_commit or not branch),
        *([] if is_commit or tickets or not branch else [EntityKey(BRANCH, branch)]),
    ]
    for target in targets:
        draft = FactDraft(_RANK, source, COMMITTED, target, text, features.at(call))
        yield by_its_agent(draft, [call])


def _added(features: TurnFeatures, call: ClassifiedCall) -> list[str]:
    """Return the files that the same line adds to the commit by name."""
    return [
        file
        for command in commands(call.targets[0])
        if command.name == "git add"
        for word in command.words[2:]
        if (file := features.paths.file(word.strip("'\""))) and "." in file.rpartition("/")[2]
    ]


def _message(arguments: str) -> str:
    quoted = _MESSAGE.search(arguments[:2000])
    if quoted:
        message = quoted.group(1) or quoted.group(2)
    else:
        heredoc = _HEREDOC_MESSAGE.search(arguments[:2000])
        message = heredoc.group(2) if heredoc else ""
    first_line = message.strip().split("\n")[0]
    return prose.shorten(_TRAILER.sub("", first_line), 200)


@dataclass(slots=True)
class _Segment:
    """What was edited between two commits: the turns by file, and the hash of the second one."""

    turns: dict[str, set[str]] = field(default_factory=dict)
    commit: str = ""


def undone_edits(
    features: TurnFeatures, earlier: Iterable[tuple[Turn, Sequence[ClassifiedCall]]]
) -> tuple[UndoneEdits | UndoneCommit, ...]:
    """Return what `git checkout`, `restore`, `reset`, `revert` and `--amend` take back."""
    segments = [_Segment()]
    found: list[UndoneEdits | UndoneCommit] = []
    for turn, calls in (*earlier, (features.turn, features.calls)):
        for call in calls:
            if call.kind in WRITE_KINDS:
                for file in _written(features, [call]):
                    segments[-1].turns.setdefault(file, set()).add(turn.turn_id)
            elif call.kind is CallKind.RUN and call.targets and not call.call.is_error:
                for command in commands(call.targets[0]) if "git " in call.targets[0] else ():
                    undone = _undone(features, command, segments)
                    if turn is features.turn:
                        at = features.at(call)
                        found += [UndoneEdits(file, frozenset(ids), at) for file, ids in undone]
                    gone = [*_replaced_commits(command, segments)]
                    if turn is features.turn:
                        found += [UndoneCommit(one.commit, features.at(call)) for one in gone]
                    if command.name == _COMMIT:
                        printed = _HASH.search(call.call.result)
                        message = _message(call.targets[0][:_MAX_SHELL])
                        segments[-1].commit = printed.group(1) if printed else message
                        segments.append(_Segment())
    return tuple(found)


def _replaced_commits(command: ShellCommand, segments: list[_Segment]) -> Iterator[_Segment]:
    """Yield the commits that a command amends or resets, and join their edits with later ones."""
    is_amended = command.name == _COMMIT and "--amend" in command.words
    count = 1 if is_amended else _commits_reset(command)
    for _ in range(min(count, len(segments) - 1)):
        gone = segments.pop(-2)
        for file, turns in gone.turns.items():
            segments[-1].turns.setdefault(file, set()).update(turns)
        yield gone


def _undone(
    features: TurnFeatures, command: ShellCommand, segments: list[_Segment]
) -> list[tuple[str, set[str]]]:
    """Return the files that a command takes back, with the turns, and forget these edits."""
    words = [word.strip("'\"") for word in command.words if not word.startswith("-")][2:]
    files: set[str] | None = None
    of = segments[-1:]
    match command.name:
        case "git checkout" | "git restore" if shell_commands.restores(list(command.words)):
            names = {word: features.paths.file(word) for word in words}
            files = None if "." in words else {name for name in names.values() if name}
        case "git reset" if "--hard" in command.words:
            of = segments[-1 - _commits_back(words) :]
        case "git revert":
            of = [one for one in segments[:-1] if _is_commit(one, segments, words)]
        case _:
            return []
    return [
        (file, one.turns.pop(file))
        for one in of
        for file in sorted(one.turns)
        if files is None or file in files
    ]


def _commits_reset(command: ShellCommand) -> int:
    words = [word for word in command.words if not word.startswith("-")][2:]
    return _commits_back(words) if command.name == "git reset" else 0


def _commits_back(words: Sequence[str]) -> int:
    """Return how many commits a reset takes back: `HEAD~2`, `HEAD^`."""
    found = _BACK.fullmatch(words[0]) if words else None
    if found is None:
        return 0
    return len(found.group(1)) if found.group(1) else int(found.group(2) or 1)


def _is_commit(segment: _Segment, segments: Sequence[_Segment], words: Sequence[str]) -> bool:
    is_last = len(segments) > 1 and segment is segments[-2]
    hashes = [word for word in words if len(word) >= _MIN_HASH]
    return (is_last and "HEAD" in words) or any(
        segment.commit and (segment.commit.startswith(one) or one.startswith(segment.commit))
        for one in hashes
    )


def undone_facts(
    undone: Iterable[UndoneEdits | UndoneCommit],
    group_id: GroupId,
    group: GroupView,
    now: datetime,
) -> Iterator[Fact]:
    """Yield the facts about edits and commits that no longer hold, with their ends."""
    for one in undone:
        if isinstance(one, UndoneCommit):
            commit = ids.entity_id(group_id, COMMIT, ids.folded_name(COMMIT, one.name))
            for fact in group.valid_facts(commit, COMMITTED):
                if one.at is None or fact.valid_at is None or fact.valid_at < one.at:
                    yield replace(fact, invalid_at=one.at, expired_at=now)
            continue
        source = ids.entity_id(group_id, FILE, ids.folded_name(FILE, one.file))
        for relation in (*sorted(EDITS), DEPENDS_ON):
            for fact in group.valid_facts(source, relation):
                is_earlier = one.at is None or fact.valid_at is None or fact.valid_at <= one.at
                if is_earlier and not one.turns.isdisjoint(fact.turns):
                    yield replace(fact, invalid_at=one.at, expired_at=now)
