"""The context of a turn for all rules: its calls, its files, and the things that it names.

A file has one name, however a turn writes its path: inside the project the path from the project's
root, the same in every checkout and worktree; outside it, a shortened path. Temporary and generated
files have no name.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import PurePosixPath
from posixpath import normpath

from turnetl.base import ids
from turnetl.base.model import Turn
from turnetl.episode_text import prose
from turnetl.extraction.structural import entity_names, lexicon, shell_commands
from turnetl.extraction.structural.entity_names import Evidence
from turnetl.extraction.structural.findings import (
    FILE,
    FLAG,
    PACKAGE,
    SETTING,
    SYMBOL,
    TEST,
    TOOL,
    EntityKey,
)
from turnetl.extraction.structural.tool_calls import (
    FILE_KINDS,
    WRITE_KINDS,
    CallKind,
    ClassifiedCall,
    classify_calls,
)

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
    r"|plans|todos|shell-snapshots|file-history)|scratchpad|te?mp)(?:/|$)"
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
    is_rooted: bool = True
    """Whether the root is known, not guessed."""

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
    is_rooted = not root or root == project_root(directory, group, branch, is_strict=True)
    return ProjectPaths(group, directory, root, is_rooted)


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


_CHANGE = re.compile(
    r"\b(?:add|updat|chang|fix|remov|mov|renam|creat|replac|implement|extract|refactor|wrot|delet"
    r"|simplif|introduc|convert|handl|now\b)",
    re.IGNORECASE,
)
# After the mark of a cut, a path lacks its beginning.
_PATH_PREFIX = re.compile(r"(?<![\w./~\u2026-])(?<!\.\.\.\] )[\w./~-]{1,200}$")
_PATH_START = frozenset(" \t\n\"'`(:")
_MAX_LISTING = 8000
"""Characters of a tool result that are searched for a file's folders."""
_MAX_CODE, _MAX_ALL_CODE = 20_000, 300_000
"""Characters of a call, and of all calls of a turn, that are searched for names."""
_MAX_NAMED = 60
_FILE_NAME = re.compile(
    r"(?:^|/)(?:\.?[\w@()\[\] -]{1,100}\.\w[^/]{0,100}|\.[a-z]\w{2,40}|[A-Z]\w{3,40})$"
)
_SETTINGS_FILE = re.compile(
    r"\.(?:toml|ini|cfg|conf|env|ya?ml)$|(?:^|/)(?:\.env[\w.]{0,20}|\.\w{1,20}rc"
    r"|(?:settings|config|package|tsconfig)[\w.]{0,20}\.json)$"
)
_DESCRIBED = frozenset({FILE, SYMBOL, TEST, FLAG, SETTING, PACKAGE})
_DOCUMENT = re.compile(r"\.(?:mdx?|rst|txt|log|csv|jsonl?)$")
_MAX_DECLARED = 4
_NAMED_TOOL_KINDS = frozenset({CallKind.MCP, CallKind.SKILL})
_TOOL_NAME = re.compile(r"^[A-Za-z][\w.+#-]{1,30}$")
USER = "User"
"""The label of who prefers and reports; no turn mentions it."""
_NO_PROJECT = "no_project"
"""The group of turns without a folder, unless the user names another."""
_MAX_READ_FILES = 8
_MAX_SENTENCES = 400


@dataclass(frozen=True, slots=True)
class TurnFeatures:
    """The turn, and everything that is computed from it once."""

    turn: Turn
    paths: ProjectPaths
    calls: tuple[ClassifiedCall, ...]
    prompt_summary: str
    """The first sentences of the prompt."""
    sentences: tuple[str, ...]
    """The informative sentences of the response, in order."""
    edited_files: tuple[str, ...]
    """Written files, the most often written first."""
    other_files: tuple[str, ...]
    """Files that were only read, or named and listed in the result of a call."""
    named: tuple[EntityKey, ...]
    """Things that prompt and response name, first those of the prompt."""
    evidence: Evidence
    reports: Mapping[str, tuple[str, ...]]
    """The informative sentences of the last answers of subagents that wrote files, by agent."""

    @property
    def user(self) -> EntityKey:
        """The user, one for each project.

        A group is a project, if it has the name of its folder. Of other groups each folder has a
        user of its own, and without folders each archive, so that what one project prefers is not
        said of another.
        """
        group = self.turn.group_id
        if not self.paths.root:
            archive = PurePosixPath(self.turn.archive).name
            return EntityKey(USER, f"user of {archive}" if group == _NO_PROJECT else "user")
        worktree = _WORKTREES.match(self.paths.root)
        folders = (worktree.group(1) if worktree else self.paths.root).split("/")
        # A group may also be named after a user and the project, or after a version of it.
        is_own = any(f"_{ids.group_id(one)}_" in f"_{group}_" for one in folders if one)
        return EntityKey(USER, "user" if is_own else f"user of {folders[-1]}")

    def at(self, call: ClassifiedCall) -> datetime | None:
        return call.call.ended_at or self.turn.started_at

    def file_of(self, location: str) -> str:
        """Return the file where something failed, which programs print without its folders."""
        name = (self.paths.mentioned(location) or "") if location else ""
        known = (*self.edited_files, *self.other_files)
        return next((file for file in known if name and file.endswith(f"/{name}")), name)

    def sentence_about(self, file: str, calls: Iterable[ClassifiedCall]) -> str:
        """Return the sentence that best describes the change of the file by calls, or an empty one.

        What the agent of the turn says is asked first, then what the subagents said that made them.
        """
        found = (_sentence_about(file, sentences) for sentences in self.said_with(calls))
        return next(filter(None, found), "")

    def said_with(self, calls: Iterable[ClassifiedCall]) -> Iterator[tuple[str, ...]]:
        """Yield the sentences of the turn's agent, then those of each subagent of the calls."""
        yield self.sentences
        agents = dict.fromkeys(call.run.agent_id for call in calls if call.run is not None)
        yield from (self.reports.get(agent, ()) for agent in agents)

    def entities_in(self, text: str) -> list[EntityKey]:
        """Return the things that a text of the turn names, in order, each once."""
        return entity_names.things(text, self.evidence)

    def description(self, entity: EntityKey) -> str:
        """Return what the entity is and where, as the calls of the turn show it, or nothing.

        It has no sentence of a text: a function, its file, the names that a file declares.
        """
        name = entity.name.rpartition(".")[2] if entity.label == SYMBOL else entity.name
        texts = list(self._file_texts()) if entity.label in _DESCRIBED else []
        if entity.label == FILE:
            code = "\n".join(text for file, text in texts if file == name)
            declared = [f"`{one}`" for one in entity_names.declared(code)]
            more = ", …" if declared[_MAX_DECLARED:] else ""
            listed = ", ".join(declared[:_MAX_DECLARED])
            return f"File that declares {listed}{more}" if declared else ""
        quoted = f'"{name.lstrip("-")}"'
        holding = [(file, text) for file, text in texts if name in text or quoted in text]
        for file, text in holding:
            kind = entity_names.declaration(name, text)
            if kind and entity.label in {SYMBOL, TEST}:
                return f"{kind if entity.label == SYMBOL else TEST} in `{file}`"
        return f"{entity.label} in `{holding[0][0]}`" if holding else ""

    def _file_texts(self) -> Iterator[tuple[str, str]]:
        """Yield the files of code that calls opened, each with what a call shows of its text."""
        for call in self.calls:
            if call.kind in FILE_KINDS and len(call.targets) == 1 and not call.call.is_error:
                file = self.paths.file(call.targets[0])
                if file and not _DOCUMENT.search(file):
                    yield file, f"{call.detail}\n{call.call.result}"[:_MAX_CODE]

    def entity_named(self, name: str, sentence: str) -> EntityKey | None:
        """Return what a decision chooses or rejects, None for a noun with an article.

        What no call shows is a tool: `polars instead of pandas`.
        """
        with_article = re.search(rf"\b(?:an?|the|this|that) {re.escape(name)}\b", sentence)
        tool = None if with_article or not _TOOL_NAME.match(name) else EntityKey(TOOL, name)
        return next(iter(entity_names.things(f"`{name}`", self.evidence)), tool)


def turn_features(turn: Turn) -> TurnFeatures:
    paths = project_paths(turn.group_id, turn.cwd, turn.git_branch)
    calls = tuple(classify_calls(turn.agent_calls))
    edited = _files(paths, calls, WRITE_KINDS)
    read = _read_files(paths, calls)
    opened = tuple(dict.fromkeys((*edited, *read, *_stopped_files(paths, calls))))
    evidence = _evidence(turn, paths, calls, opened)
    named = _named(turn, evidence)
    mentioned = [key.name for key in named if key.label == FILE]
    other = dict.fromkeys((*mentioned, *read[:_MAX_READ_FILES]))
    other_files = tuple(name for name in other if name not in edited)
    return TurnFeatures(
        turn=turn,
        paths=paths,
        calls=calls,
        prompt_summary=prose.prompt_summary(turn.user_text),
        sentences=_informative_sentences(turn.assistant_text),
        edited_files=edited,
        other_files=other_files,
        named=named,
        evidence=evidence,
        reports=_reports(calls),
    )


def _stopped_files(paths: ProjectPaths, calls: Iterable[ClassifiedCall]) -> list[str]:
    """Return the files of edits that the user stopped."""
    stopped = (call for call in calls if call.rejected and call.kind in WRITE_KINDS)
    return [file for call in stopped for path in call.targets if (file := paths.file(path))]


def _read_files(paths: ProjectPaths, calls: Iterable[ClassifiedCall]) -> tuple[str, ...]:
    """Return the files that were read, no folders; first those that the agent itself read."""
    own = _files(paths, (call for call in calls if call.run is None), frozenset({CallKind.READ}))
    read = dict.fromkeys((*own, *_files(paths, calls, frozenset({CallKind.READ}))))
    return tuple(name for name in read if _FILE_NAME.search(name))


def _reports(calls: Iterable[ClassifiedCall]) -> Mapping[str, tuple[str, ...]]:
    writers = (call.run for call in calls if call.kind in WRITE_KINDS and call.run is not None)
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


def _known_file(
    paths: ProjectPaths, opened: tuple[str, ...], listings: Sequence[str], mentioned: str
) -> str | None:
    """Return the file that a text means: it was opened, or the result of a call lists it.

    Leading folders may be missing, unless several files that were opened end so.
    """
    root = f"{paths.root.rpartition('/')[2]}/".lstrip("/")
    name = (paths.mentioned(mentioned) or "").removeprefix(root)
    if not name or name in opened:
        return name or None
    ending = f"/{name}".casefold()
    matches = [file for file in opened if f"/{file}".casefold().endswith(ending)]
    if matches:
        return matches[0] if len(matches) == 1 else None
    for listing in listings:
        start = listing.find(name, 0, _MAX_LISTING)
        if start > 0 and listing[start - 1] == "/":
            prefix = _PATH_PREFIX.search(listing[max(0, start - 200) : start - 1])
            listed = paths.file(f"{prefix.group()}/{name}") if prefix else None
            return listed.removeprefix(root) if listed else None
        if "/" in name and (start == 0 or (start > 0 and listing[start - 1] in _PATH_START)):
            return name
    return None


def _evidence(
    turn: Turn, paths: ProjectPaths, calls: Sequence[ClassifiedCall], opened: tuple[str, ...]
) -> Evidence:
    texts = [f"{call.call.input[:_MAX_CODE]}\n{call.call.result[:_MAX_CODE]}" for call in calls]
    code = "\n".join([entity_names.code_blocks(turn.user_text[:_MAX_CODE]), *texts])[:_MAX_ALL_CODE]
    if not calls:
        code += entity_names.code_blocks(turn.assistant_text[:_MAX_CODE])
    shell = [call.targets[0] for call in calls if call.kind is CallKind.RUN and call.targets]
    commands = [one for line in shell for one in shell_commands.commands(line)]
    written = [call for call in calls if call.kind in WRITE_KINDS]
    named_tools = (
        name for call in calls if call.kind in _NAMED_TOOL_KINDS for name in call.targets
    )
    branch = entity_names.branch(turn.git_branch)
    branches = entity_names.branches("\n".join(shell)[:_MAX_CODE])
    return Evidence(
        code=code,
        file=partial(_known_file, paths, opened, [call.call.result for call in calls]),
        programs=frozenset(
            name.casefold() for name in (*(command.program for command in commands), *named_tools)
        ),
        packages=frozenset(
            name for command in commands for name in shell_commands.installed_packages(command)
        ).union(*(entity_names.packages(call.detail[:_MAX_CODE]) for call in written)),
        settings=frozenset().union(
            *(
                entity_names.setting_keys(f"{call.detail}\n{call.call.result}"[:_MAX_CODE])
                for call in calls
                if call.kind in FILE_KINDS and any(map(_SETTINGS_FILE.search, call.targets))
            )
        ),
        branches=branches | ({branch} if branch else set()),
        repositories=frozenset(
            name.casefold()
            for name in (
                paths.root.rpartition("/")[2],
                turn.group_id,
                turn.group_id.rpartition("_")[2],
            )
        ),
        is_work=bool(calls or turn.cwd),
    )


def _named(turn: Turn, evidence: Evidence) -> tuple[EntityKey, ...]:
    """Return the things that prompt and response name, first those of the prompt."""
    prompt = prose.clip(turn.user_text, *prose.PROMPT_LIMITS)
    quoted = entity_names.quoted(prose.clip(turn.assistant_text, *prose.RESPONSE_NAME_LIMITS))
    said = [*entity_names.things(prompt, evidence), *entity_names.things(quoted, evidence)]
    return tuple(dict.fromkeys(said))[:_MAX_NAMED]
