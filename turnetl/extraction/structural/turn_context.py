"""A turn as the rest of the room sees it: its calls, its things by name, and what it is about."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from turnetl.extraction.structural import concepts, prose
from turnetl.extraction.structural.calls import CallKind, ClassifiedCall, read_calls
from turnetl.extraction.structural.files import ProjectPaths, project
from turnetl.extraction.structural.findings import COMMAND, CONCEPT, FILE, TOOL, EntityKey
from turnetl.model import Turn

_WRITES = frozenset({CallKind.EDIT, CallKind.CREATE})
_CHANGE = re.compile(
    r"\b(?:add|updat|chang|fix|remov|mov|renam|creat|replac|implement|extract|refactor|wrot|delet"
    r"|simplif"
    r"|introduc|convert|handl|now\b)",
    re.IGNORECASE,
)
_FRONT = re.compile(r"(?<![\w./~-])[\w./~-]{1,200}$")
_LISTED = 8000
_SERVED = frozenset({CallKind.SERVER, CallKind.SKILL})
_SLASH = re.compile(r"/[a-z][\w:-]{1,60}(?=\s|$)")
NOBODY = EntityKey(CONCEPT, "user")
"""Stands where a turn names nothing at all: a sentence needs two ends."""
_READ_FILES = 8
_MENTIONED_FILES = 8
_SENTENCES = 400


@dataclass(frozen=True, slots=True)
class TurnContext:
    """Everything that is worked out once for a turn."""

    turn: Turn
    project: ProjectPaths
    calls: tuple[ClassifiedCall, ...]
    hub: EntityKey
    """The project itself."""
    subject: EntityKey
    """What the turn is about more than anything else."""
    gist: str
    """What was asked."""
    told: tuple[str, ...]
    """The telling sentences of the answer, in order."""
    edited: tuple[str, ...]
    """Files written to, most often first."""
    seen: tuple[str, ...]
    """Files only read or spoken of."""
    concepts: tuple[EntityKey, ...]

    def at(self, call: ClassifiedCall) -> datetime | None:
        return call.of.ended_at or self.turn.started_at

    def sentence_about(self, file: str) -> str:
        """Return the sentence that says best what was done to the file, or nothing."""
        base = file.rpartition("/")[2]
        about = [sentence for sentence in self.told if base in sentence]
        return next(filter(_CHANGE.search, about), about[0] if about else "")

    def spoken_of(self, sentence: str, but: EntityKey) -> EntityKey:
        """Return the other thing a sentence is about: a concept, a file, or the turn's subject."""
        for concept in self.concepts:
            if concept != but and concept.name in sentence:
                return concept
        for file in (*self.edited, *self.seen):
            if file.rpartition("/")[2] in sentence and EntityKey(FILE, file) != but:
                return EntityKey(FILE, file)
        return self.subject if self.subject != but else self.hub


def turn_context(turn: Turn) -> TurnContext:
    where = project(turn.group_id, turn.cwd, turn.git_branch)
    calls = tuple(read_calls(turn.tool_calls))
    edited = _files(where, calls, _WRITES)
    seen = _seen(where, calls, turn, edited)
    named = _concepts(turn, calls, (*edited, *seen))
    hub = EntityKey(CONCEPT, turn.group_id)
    return TurnContext(
        turn=turn,
        project=where,
        calls=calls,
        hub=hub,
        subject=_subject(turn, calls, edited, seen, [thing for thing in named if thing != hub]),
        gist=prose.gist(turn.user_text),
        told=_told(turn.assistant_text),
        edited=edited,
        seen=seen,
        concepts=tuple(thing for thing in named if thing != hub),
    )


def _told(answer: str) -> tuple[str, ...]:
    words = prose.sentences(prose.plain(prose.clip(answer, *prose.TOLD)))
    telling = (sentence for sentence in words if prose.is_telling(sentence))
    return tuple(dict.fromkeys(telling))[:_SENTENCES]


def _files(
    where: ProjectPaths, calls: Iterable[ClassifiedCall], kinds: frozenset[CallKind]
) -> tuple[str, ...]:
    """Return the files of calls that went well, most often first, then by name."""
    counted = Counter(
        name
        for call in calls
        if call.kind in kinds and not call.of.is_error
        for path in call.targets
        if (name := where.file(path))
    )
    return tuple(sorted(counted, key=lambda name: (-counted[name], name)))


def _seen(
    where: ProjectPaths, calls: Iterable[ClassifiedCall], turn: Turn, edited: tuple[str, ...]
) -> tuple[str, ...]:
    read = _files(where, calls, frozenset({CallKind.READ}))
    known = {name.rpartition("/")[2]: name for name in reversed((*edited, *read))}
    mentioned: list[str] = []
    for path in concepts.file_mentions(f"{turn.user_text[:8000]}\n{turn.assistant_text[-30_000:]}"):
        name = where.mentioned(path)
        # A bare `status.go` is the file of that name which was opened; without one it is a guess.
        name = known.get(name, name if "/" in name else None) if name else None
        if name:
            mentioned.append(name)
    whole = [_whole(name, (*edited, *read), where, calls) for name in mentioned[:_MENTIONED_FILES]]
    both = [*whole, *read[:_READ_FILES]]
    return tuple(name for name in dict.fromkeys(both) if name not in edited)


def _whole(
    name: str, opened: tuple[str, ...], where: ProjectPaths, calls: Iterable[ClassifiedCall]
) -> str:
    """Return the file that a text means when it leaves folders out in front.

    It is one that was opened, or one that a search listed.
    """
    meant = next((file for file in opened if file.endswith(f"/{name}")), None)
    if meant or name in opened:
        return meant or name
    for call in calls:
        place = call.of.result.find(f"/{name}", 0, _LISTED)
        if place > 0 and (front := _FRONT.search(call.of.result[max(0, place - 200) : place])):
            return where.file(f"{front.group()}/{name}") or name
    return name


def _concepts(
    turn: Turn, calls: Iterable[ClassifiedCall], files: tuple[str, ...]
) -> list[EntityKey]:
    inputs = " ".join(call.of.input[:200] for call in calls if call.kind is CallKind.SERVER)
    bases = frozenset(file.rpartition("/")[2] for file in files)
    branch = concepts.branch(turn.git_branch)
    names = [
        *concepts.tickets(f"{turn.user_text[:6000]} {inputs[:4000]} {branch or ''}"),
        *concepts.concepts(turn.user_text, turn.assistant_text, files=bases),
        *concepts.topics(turn.user_text, files),
        *([branch] if branch else []),
    ]
    return [EntityKey(CONCEPT, name) for name in dict.fromkeys(names)]


def _subject(
    turn: Turn,
    calls: Iterable[ClassifiedCall],
    edited: tuple[str, ...],
    seen: tuple[str, ...],
    named: list[EntityKey],
) -> EntityKey:
    typed = turn.user_text[:6000]
    slash = _SLASH.match(typed)
    asked = [thing for thing in named if thing.name in typed]
    files = [EntityKey(FILE, name) for name in (*edited, *seen)]
    tools = sorted(call.targets[0] for call in calls if call.kind in _SERVED and call.targets)
    first = [
        *([EntityKey(COMMAND, slash.group())] if slash else []),
        *asked,
        *files[: len(edited)],
        *named,
        *files,
        *(EntityKey(TOOL, prose.shorten(tool, 60)) for tool in tools),
        NOBODY,
    ]
    return first[0]
