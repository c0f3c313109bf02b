"""The context of a turn for all rules: its calls, its files and concepts, and its subject.

A file has one name, however a turn writes its path: inside the project the path from the project's
root, the same in every checkout and worktree; outside it, a shortened path. Temporary and generated
files have no name.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from posixpath import normpath

from turnetl.base.model import Turn
from turnetl.extraction.structural import concepts, lexicon, prose
from turnetl.extraction.structural.findings import COMMAND, CONCEPT, FILE, TOOL, EntityKey
from turnetl.extraction.structural.tool_calls import CallKind, ClassifiedCall, classify_calls

_HOME = re.compile(r"^(?:/Users/[^/]+|/home/[^/]+|/root|[A-Za-z]:/Users/[^/]+)(?=/|$)")
_WORKTREES = re.compile(
    r"^(.*?)/(?:\.(?:claude|git)/worktrees|[\w.-]{0,80}worktrees|\.trees)/(.+)$"
)
_NESTED_WORKTREES = re.compile(r"^(?:\.worktrees|\.claude/worktrees|\.git/worktrees|\.trees)/")
_NOT_A_PATH = re.compile(r"[\x00-\x1f\x7f*?{}<>|$\"'`;=]|\s{2}|://|\.\.\.|…")
_LINE_SUFFIX = re.compile(r"(?::\d{1,7}){1,2}(?:-\d{1,7})?$|#L\d{1,7}.*$")
_SYSTEM_FOLDERS = re.compile(r"^(?:/private)?/(?:tmp|var|dev|proc|sys|run)(?:/|$)")
_GENERATED_FOLDERS = re.compile(
    r"(?:^|/)(?:node_modules|\.git|__pycache__|\.?venv|site-packages|\.cache|caches?|Caches"
    r"|\.(?:pytest|mypy|ruff)_cache|\.next|\.tox|tool-results|\.npm|pkg/mod|\.claude/(?:projects"
    r"|plans"
    r"|todos|shell-snapshots|file-history)|scratchpad|te?mp)(?:/|$)"
)
_GENERATED_FILES = re.compile(
    r"(?:^|/)(?:[0-9a-f]{12,64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d+)(?:\.\w{1,8})?$"
    r"|\.(?:pyc|tmp|swp|log|pid|output|bak|o|class)$|(?:^|/)\.DS_Store$",
    re.IGNORECASE,
)
_MAX_LENGTH = 240
_MAX_OUTSIDE_PARTS = 4
_HOME_DEPTH = 2


@dataclass(frozen=True, slots=True)
class ProjectPaths:
    group: str
    cwd: str
    root: str

    def file(self, path: str) -> str | None:
        """Return the name of a file in a tool call, or None for a generated file."""
        return self._name(path, self._relative)

    def mentioned(self, path: str) -> str | None:
        """Return the name of a file in a text: a relative path starts at the project root."""
        return self._name(path, lambda relative: _unless_generated(normpath(relative)))

    def _name(self, path: str, of_relative: Callable[[str], str | None]) -> str | None:
        path = _clean(path)
        if not path:
            return None
        return self._absolute(path) if _is_absolute(path) else of_relative(path)

    def _relative(self, path: str) -> str | None:
        below = _relative_to(self.cwd, self.root) or ""
        path = normpath(path)
        if not self.cwd or (below and path.startswith(below + "/")):
            return _unless_generated(path)
        return self._absolute(normpath(f"{self.cwd}/{path}"))

    def _absolute(self, path: str) -> str | None:
        path = normpath(path)
        inside = _relative_to(path, self.root)
        if inside is not None and not _NESTED_WORKTREES.match(inside):
            return _unless_generated(inside)
        other_root = project_root(path, self.group, None, is_strict=True)
        if other_root:
            return _unless_generated(_relative_to(path, other_root) or "")
        return None if _SYSTEM_FOLDERS.match(path) else _unless_generated(_shortened(path))


def project_paths(group: str, cwd: str | None, branch: str | None) -> ProjectPaths:
    directory = normpath(cwd.replace("\\", "/")) if cwd and _is_absolute(cwd) else ""
    root = project_root(directory, group, branch) if directory else ""
    return ProjectPaths(group, directory, root)


def project_root(path: str, group: str, branch: str | None, *, is_strict: bool = False) -> str:
    """Return the root of the checkout that contains an absolute path.

    The root folder may have the name of the group, and a worktree's folder that of the Git branch.
    With `is_strict` it is an empty string instead of a guess.
    """
    worktree = _WORKTREES.match(path)
    if worktree:
        return f"{path[: worktree.start(2)]}{_worktree_name(worktree.group(2), branch)}"
    parts = path.split("/")
    start = _HOME_DEPTH + 1 if _HOME.match(path) else 1
    for index in range(start, len(parts)):
        if _is_group(parts[index], group):
            return "/".join(parts[: index + 1])
    return "" if is_strict else _parent_of_source_folder(parts, start)


def _worktree_name(rest: str, branch: str | None) -> str:
    if branch and (rest == branch or rest.startswith(branch + "/")):
        return branch
    parts = rest.split("/")
    # In `worktrees/<user>/<fix-the-bug>` the slash is part of the branch name.
    has_owner = len(parts) > 1 and "-" in parts[1] and "." not in parts[1]
    return "/".join(parts[: 1 + has_owner])


def _parent_of_source_folder(parts: list[str], start: int) -> str:
    for index in range(start + 1, len(parts)):
        if parts[index] in lexicon.PROJECT_FOLDERS:
            return "/".join(parts[:index])
    return "/".join(parts)


def _is_group(part: str, group: str) -> bool:
    slug = re.sub(r"[^a-z0-9]+", "_", part.lower()).strip("_")
    return bool(slug) and (slug == group or group.endswith(f"_{slug}"))


def _clean(path: str) -> str:
    path = _LINE_SUFFIX.sub("", path[: 2 * _MAX_LENGTH].strip().removeprefix("file://"))
    if "\\" in path and ("/" not in path or path[1:3] == ":\\"):
        path = path.replace("\\", "/")
    return "" if len(path) > _MAX_LENGTH or _NOT_A_PATH.search(path) else path


def _is_absolute(path: str) -> bool:
    return path.startswith(("/", "~")) or path[1:3] in {":/", ":\\"}


def _relative_to(path: str, root: str) -> str | None:
    if not root:
        return None
    if path == root:
        return ""
    return path[len(root) + 1 :] if path.startswith(root.rstrip("/") + "/") else None


def _shortened(path: str) -> str:
    home = _HOME.sub("~", path)
    parts = home.split("/")
    if len(parts) <= _MAX_OUTSIDE_PARTS + 1:
        return home
    return "/".join([parts[0], "…", *parts[-_MAX_OUTSIDE_PARTS + 1 :]])


def _unless_generated(name: str) -> str | None:
    if name in {"", ".", "~", "/"} or name.startswith("../") or name == "..":
        return None
    return None if _GENERATED_FOLDERS.search(name) or _GENERATED_FILES.search(name) else name


_WRITE_KINDS = frozenset({CallKind.EDIT, CallKind.CREATE})
_CHANGE = re.compile(
    r"\b(?:add|updat|chang|fix|remov|mov|renam|creat|replac|implement|extract|refactor|wrot|delet"
    r"|simplif"
    r"|introduc|convert|handl|now\b)",
    re.IGNORECASE,
)
_PATH_PREFIX = re.compile(r"(?<![\w./~-])[\w./~-]{1,200}$")
_MAX_LISTING = 8000
"""Characters of a tool result that are searched for a file's folders."""
_NAMED_TOOL_KINDS = frozenset({CallKind.MCP, CallKind.SKILL})
_SLASH_COMMAND = re.compile(r"/[a-z][\w:-]{1,60}(?=\s|$)")
USER = EntityKey(CONCEPT, "user")
"""The subject of a turn without any topic: a fact needs two endpoints."""
_MAX_READ_FILES = 8
_MAX_MENTIONED_FILES = 8
_MAX_SENTENCES = 400
_SUBJECTS = 2
"""Endpoints of a fact about the whole turn."""


@dataclass(frozen=True, slots=True)
class TurnFeatures:
    """The turn, and everything that is computed from it once."""

    turn: Turn
    paths: ProjectPaths
    calls: tuple[ClassifiedCall, ...]
    project: EntityKey
    subject: EntityKey
    """The main one."""
    counterpart: EntityKey
    """The second subject: the other endpoint of facts about the whole turn. It is the project only
    if the turn has one subject, because an entity that every fact touches connects nothing."""
    prompt_summary: str
    """The first sentences of the prompt."""
    sentences: tuple[str, ...]
    """The informative sentences of the response, in order."""
    edited_files: tuple[str, ...]
    """Written files, the most often written first."""
    other_files: tuple[str, ...]
    """Files that were only read or mentioned."""
    concepts: tuple[EntityKey, ...]
    reports: Mapping[str, tuple[str, ...]]
    """The informative sentences of the last answers of subagents that wrote files, by agent."""

    def at(self, call: ClassifiedCall) -> datetime | None:
        return call.call.ended_at or self.turn.started_at

    def sentence_about(self, file: str, calls: Iterable[ClassifiedCall]) -> str:
        """Return the sentence that best describes the change of the file by calls, or an empty one.

        What the agent of the turn says is asked first, then what the subagents said that made them.
        """
        agents = dict.fromkeys(call.run.agent_id for call in calls if call.run is not None)
        return next(
            filter(
                None,
                (
                    _sentence_about(file, sentences)
                    for sentences in (
                        self.sentences,
                        *(self.reports.get(agent, ()) for agent in agents),
                    )
                ),
            ),
            "",
        )

    def entity_in(self, sentence: str, exclude: EntityKey) -> EntityKey:
        """Return another entity that the sentence names: a concept or a file, else a subject."""
        for concept in self.concepts:
            if concept != exclude and concept.name in sentence:
                return concept
        for file in (*self.edited_files, *self.other_files):
            if file.rpartition("/")[2] in sentence and EntityKey(FILE, file) != exclude:
                return EntityKey(FILE, file)
        return self.subject_beside(exclude)

    def entity_named(self, name: str) -> EntityKey:
        key = EntityKey(CONCEPT, name)
        for file in (*self.edited_files, *self.other_files):
            if name.casefold() in (file.casefold(), file.rpartition("/")[2].casefold()):
                return EntityKey(FILE, file)
        return next((concept for concept in self.concepts if concept == key), key)

    def subject_beside(self, entity: EntityKey) -> EntityKey:
        return self.subject if self.subject != entity else self.counterpart


def turn_features(turn: Turn, previous: Turn | None = None) -> TurnFeatures:
    """Return the features of a turn; a bare "yes" continues the `previous` one of its session."""
    paths = project_paths(turn.group_id, turn.cwd, turn.git_branch)
    calls = tuple(classify_calls(turn.agent_calls))
    edited = _files(paths, calls, _WRITE_KINDS)
    other = _other_files(paths, calls, turn, edited)
    project = EntityKey(CONCEPT, turn.group_id)
    named = [concept for concept in _concepts(turn, calls, (*edited, *other)) if concept != project]
    subjects = _subjects(turn, calls, edited, other, named)
    if len(subjects) < _SUBJECTS:
        subjects = list(dict.fromkeys([*subjects, *_topics(turn, previous)]))
    subject, counterpart = [*subjects, project, USER][:_SUBJECTS]
    return TurnFeatures(
        turn=turn,
        paths=paths,
        calls=calls,
        project=project,
        subject=subject,
        counterpart=counterpart,
        prompt_summary=prose.prompt_summary(turn.user_text),
        sentences=_informative_sentences(turn.assistant_text),
        edited_files=edited,
        other_files=other,
        concepts=tuple(named),
        reports=_reports(calls),
    )


def _reports(calls: Iterable[ClassifiedCall]) -> Mapping[str, tuple[str, ...]]:
    writers = (call.run for call in calls if call.kind in _WRITE_KINDS and call.run is not None)
    answers = {run.agent_id: run.answer for run in writers}
    return {agent: _informative_sentences(answer) for agent, answer in answers.items()}


def _sentence_about(file: str, sentences: Iterable[str]) -> str:
    base = file.rpartition("/")[2]
    about = [sentence for sentence in sentences if base in sentence]
    return next(filter(_CHANGE.search, about), about[0] if about else "")


def _informative_sentences(response: str) -> tuple[str, ...]:
    sentences = prose.sentences(prose.plain(prose.clip(response, *prose.RESPONSE_LIMITS)))
    informative = (sentence for sentence in sentences if prose.is_informative(sentence))
    return tuple(dict.fromkeys(informative))[:_MAX_SENTENCES]


def _files(
    paths: ProjectPaths, calls: Iterable[ClassifiedCall], kinds: frozenset[CallKind]
) -> tuple[str, ...]:
    counts = Counter(
        name
        for call in calls
        if call.kind in kinds and not call.call.is_error
        for path in call.targets
        if (name := paths.file(path))
    )
    return tuple(sorted(counts, key=lambda name: (-counts[name], name)))


def _other_files(
    paths: ProjectPaths, calls: Iterable[ClassifiedCall], turn: Turn, edited: tuple[str, ...]
) -> tuple[str, ...]:
    # What subagents only read comes after what the agent of the turn did.
    own = _files(paths, (call for call in calls if call.run is None), frozenset({CallKind.READ}))
    read = tuple(dict.fromkeys((*own, *_files(paths, calls, frozenset({CallKind.READ})))))
    by_base_name = {name.rpartition("/")[2].casefold(): name for name in reversed((*edited, *read))}
    mentioned: list[str] = []
    for path in concepts.file_mentions(f"{turn.user_text[:8000]}\n{turn.assistant_text[-30_000:]}"):
        name = paths.mentioned(path)
        # A bare `status.go` is the opened file of that name; without one it would be a guess.
        name = by_base_name.get(name.casefold(), name if "/" in name else None) if name else None
        if name:
            mentioned.append(name)
    complete = [
        _with_folders(name, (*edited, *read), paths, calls)
        for name in mentioned[:_MAX_MENTIONED_FILES]
    ]
    files = [*complete, *read[:_MAX_READ_FILES]]
    return tuple(name for name in dict.fromkeys(files) if name not in edited)


def _with_folders(
    name: str, opened: tuple[str, ...], paths: ProjectPaths, calls: Iterable[ClassifiedCall]
) -> str:
    """Return the file that a text means when it omits leading folders.

    The file was opened by a call, or listed in the result of one.
    """
    match = next((file for file in opened if file.endswith(f"/{name}")), None)
    if match or name in opened:
        return match or name
    for call in calls:
        result = call.call.result
        start = result.find(f"/{name}", 0, _MAX_LISTING)
        if start > 0 and (prefix := _PATH_PREFIX.search(result[max(0, start - 200) : start])):
            return paths.file(f"{prefix.group()}/{name}") or name
    return name


def _concepts(
    turn: Turn, calls: Iterable[ClassifiedCall], files: tuple[str, ...]
) -> list[EntityKey]:
    inputs = " ".join(call.call.input[:200] for call in calls if call.kind is CallKind.MCP)
    base_names = frozenset(file.rpartition("/")[2] for file in files)
    branch = concepts.branch(turn.git_branch)
    names = [
        *concepts.tickets(f"{turn.user_text[:6000]} {inputs[:4000]} {branch or ''}"),
        *concepts.concepts(turn.user_text, turn.assistant_text, files=base_names),
        *concepts.topics(turn.user_text, files),
        *([branch] if branch else []),
    ]
    return list(dict.fromkeys(EntityKey(CONCEPT, name) for name in names))


def _topics(turn: Turn, previous: Turn | None) -> list[EntityKey]:
    """Return topics of the turn, the surest first; the last are those of the prompt before it."""
    prompt, response = turn.user_text, turn.assistant_text
    topics = [
        *concepts.shared_phrases(prompt, response, _SUBJECTS),
        *concepts.proper_names(f"{prompt}\n{response}", _SUBJECTS),
        *concepts.repeated_phrases(response, _SUBJECTS),
    ]
    if len(topics) < _SUBJECTS and previous is not None:
        answered = f"{previous.assistant_text}\n{response}"
        topics += concepts.shared_phrases(previous.user_text, answered, _SUBJECTS)
    return [EntityKey(CONCEPT, topic) for topic in concepts.distinct_phrases(topics, _SUBJECTS)]


def _subjects(
    turn: Turn,
    calls: Iterable[ClassifiedCall],
    edited: tuple[str, ...],
    other: tuple[str, ...],
    named: list[EntityKey],
) -> list[EntityKey]:
    """Return the entities that the turn is about, the most important first."""
    prompt = turn.user_text[:6000]
    slash_command = _SLASH_COMMAND.match(prompt)
    in_prompt = [entity for entity in named if entity.name in prompt]
    files = [EntityKey(FILE, name) for name in (*edited, *other)]
    tools = sorted(
        call.targets[0] for call in calls if call.kind in _NAMED_TOOL_KINDS and call.targets
    )
    by_importance = [
        *([EntityKey(COMMAND, slash_command.group())] if slash_command else []),
        *in_prompt,
        *files[: len(edited)],
        *named,
        *files,
        *(EntityKey(TOOL, prose.shorten(tool, 60)) for tool in tools),
    ]
    return list(dict.fromkeys(by_importance))
