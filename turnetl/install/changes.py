"""What an installation changes in the files of agents, and how it is written.

Files are read, changed as text, shown, and written whole if they are still as they were shown. The
first change of a file keeps the file as it was beside it. A symbolic link is followed: the file
that it leads to is written, and the link stays.
"""

import difflib
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from stat import S_IMODE
from typing import Annotated, Any

from turnetl.agent_sources.locations import AgentMachine, environment_folder
from turnetl.base import private_files
from turnetl.base.control_characters import displayed_text
from turnetl.base.errors import BadUsage, Fatal
from turnetl.base.results import described
from turnetl.install.agents import (
    AGENTS,
    OWN_KEYS,
    Agent,
    AgentHooks,
    HookMoment,
    hook_command,
    hook_entry,
    server_entry,
)
from turnetl.install.config_text import (
    BadConfig,
    ConfigEntry,
    ConfigFormat,
    containers,
    own_values,
    read_config,
    with_entries,
    without_entries,
)

if sys.platform != "win32":
    import fcntl

BACKUP = ".before-turnetl"
"""Ends the name of the copy of a file as it was."""
_LOCK = "install.lock"
_MAX_BYTES = 64_000_000


class FileAction(StrEnum):
    """What happens to a file."""

    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"
    UNCHANGED = "unchanged"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file of an agent's configuration."""

    path: Annotated[Path, described("The file that the agent reads.")]
    target: Annotated[Path, described("The file that is written: where a symbolic link leads.")]
    action: Annotated[FileAction, described("What happens to it.")]
    diff: Annotated[
        tuple[str, ...], described("Lines of turnetl's entries, removed (-) and added (+).")
    ] = ()
    backup: Annotated[
        Path | None, described("The copy of the file as it was; null: none is made.")
    ] = None
    problem: Annotated[str, described("Why it is not changed; empty: nothing is wrong.")] = ""


@dataclass(frozen=True, slots=True)
class AgentChange:
    """What an installation changes for one agent."""

    agent: Annotated[str, described("The name of the agent on the command line.")]
    title: Annotated[str, described("The name of the agent.")]
    hooks: Annotated[
        tuple[HookMoment, ...],
        described("The hooks: those asked for, and those of an earlier installation."),
    ]
    files: Annotated[tuple[FileChange, ...], described("The files, each once.")]
    note: Annotated[str, described("What the agent lacks, or what to do in it; empty: nothing.")]

    @property
    def problems(self) -> tuple[str, ...]:
        """Sentences."""
        return tuple(f"`{one.path}` {one.problem}" for one in self.files if one.problem)

    @property
    def is_changed(self) -> bool:
        return any(one.action not in _WITHOUT_EFFECT for one in self.files)


_WITHOUT_EFFECT = (FileAction.UNCHANGED, FileAction.REFUSED)


@dataclass(frozen=True, slots=True)
class InstallReport:
    """What an installation, or the end of one, changes or changed."""

    removes: Annotated[bool, described("Whether entries are removed.")]
    agents: Annotated[tuple[AgentChange, ...], described("The agents, in the order given.")]
    done: Annotated[bool, described("Whether the files are written.")] = False

    @property
    def problems(self) -> tuple[str, ...]:
        return tuple(problem for one in self.agents for problem in one.problems)

    @property
    def is_refused(self) -> bool:
        """Whether nothing at all can be changed, although something is wrong."""
        return bool(self.problems) and not self.is_changed

    @property
    def is_changed(self) -> bool:
        return any(one.is_changed for one in self.agents)


@dataclass(frozen=True, slots=True)
class Installation:
    """What is asked for."""

    machine: AgentMachine
    agents: tuple[Agent, ...]
    command: tuple[str, ...]
    """The program, and the options of every command that the agents start."""
    hooks: tuple[HookMoment, ...] = ()
    hook_options: tuple[str, ...] = ()
    removes: bool = False

    def plan(self) -> InstallReport:
        """Return what would change. Writes nothing."""
        return self._report(done=False)

    def execute(self, shown: InstallReport, state: Path) -> InstallReport:
        """Change the files as they were shown, one process at a time.

        `state`: the folder of turnetl's own files, for the lock.

        Raises:
            Fatal: a file was changed since it was shown, or cannot be written.
        """
        with _locked(state / _LOCK):
            if self.plan() != shown:
                raise Fatal(
                    "a configuration was changed since its difference was shown: nothing was "
                    "written; run the command again"
                )
            return self._report(done=True)

    def _report(self, *, done: bool) -> InstallReport:
        agents = tuple(self._change(agent, done=done) for agent in self.agents)
        return InstallReport(self.removes, agents, done)

    def _change(self, agent: Agent, *, done: bool) -> AgentChange:
        earlier = self._registered(agent)
        wanted = {*self.hooks, *earlier}
        moments = tuple(one for one in HookMoment if one in wanted and one in agent.moments())
        files = self._files(agent, {moment: earlier.get(moment) for moment in moments})
        plans = [self._planned(file) for file in files]
        # An agent gets all of it or nothing.
        if any(plan.change.problem for plan in plans):
            plans = [plan.refused() for plan in plans if not plan.is_missing]
        elif done:
            for plan in plans:
                plan.write()
        missing = set(self.hooks) - set(moments)
        notes = [agent.why_less] if missing and agent.why_less else []
        notes += [agent.advice] if moments and agent.advice and not self.removes else []
        changes = tuple(plan.change for plan in plans if not (self.removes and plan.is_missing))
        return AgentChange(agent.name, agent.title, moments, changes, "; ".join(notes))

    def _files(
        self, agent: Agent, hooks: Mapping[HookMoment, Mapping[str, Any] | None]
    ) -> "list[_ConfigFile]":
        """Return the files with their entries; to remove, all that there may be.

        `hooks`: with the handlers that an earlier installation registered.
        """
        entries = {server_file(agent, self.machine): [server_entry(agent, self.command)]}
        kinds = {server_file(agent, self.machine): agent.kind}
        headers: dict[Path, dict[str, Any]] = {}
        if agent.hooks is not None:
            file = config_folder(agent, self.machine) / agent.hooks.file
            for moment, earlier in hooks.items():
                entry = self._hook(agent, agent.hooks, moment, earlier)
                entries.setdefault(file, []).append(entry)
            kinds.setdefault(file, ConfigFormat.JSON)
            headers[file] = dict(agent.hooks.header)
        return [
            _ConfigFile(path, tuple(found), kinds[path], headers.get(path, {}))
            for path, found in entries.items()
        ]

    def _hook(
        self,
        agent: Agent,
        hooks: AgentHooks,
        moment: HookMoment,
        earlier: Mapping[str, Any] | None = None,
    ) -> ConfigEntry:
        windows = self.machine.platform == "win32"
        line = hook_command(agent, moment, self.command, self.hook_options, windows=windows)
        return hook_entry(hooks, moment, line, earlier, renewed=moment in self.hooks)

    def _registered(self, agent: Agent) -> dict[HookMoment, Mapping[str, Any]]:
        """Return the handlers of the hooks that an earlier installation registered.

        A file that cannot be read has none: the change of its other entries says why.
        """
        if agent.hooks is None:
            return {}
        path = config_folder(agent, self.machine) / agent.hooks.file
        found: dict[HookMoment, Mapping[str, Any]] = {}
        with suppress(BadConfig):
            text = _ConfigFile(path, (), ConfigFormat.JSON, {}).read()[1]
            values = read_config(text or "", ConfigFormat.JSON)
            for moment in agent.moments():
                if own := own_values(values, self._hook(agent, agent.hooks, moment)):
                    found[moment] = own[0]
        return found

    def _planned(self, file: "_ConfigFile") -> "_PlannedFile":
        try:
            return file.without() if self.removes else file.extended()
        except BadConfig as error:
            change = FileChange(
                file.path, file.path, FileAction.REFUSED, problem=displayed_text(str(error))
            )
            return _PlannedFile(change, None, None)


@dataclass(frozen=True, slots=True)
class _PlannedFile:
    change: FileChange
    before: str | None
    """None: there is no file."""
    after: str | None

    @property
    def is_missing(self) -> bool:
        """Whether there is no file, which is no problem."""
        return self.before is None and not self.change.problem

    def refused(self) -> "_PlannedFile":
        if self.change.problem or self.change.action is FileAction.UNCHANGED:
            return self
        change = replace(self.change, action=FileAction.REFUSED, diff=(), backup=None)
        return replace(self, change=change)

    def write(self) -> None:
        change = self.change
        if change.action is FileAction.UNCHANGED:
            return
        try:
            self._write()
        except OSError as error:
            raise Fatal(
                f"`{error.filename or change.target}` cannot be written: {error.strerror}; correct "
                "that, and run the command again"
            ) from error

    def _write(self) -> None:
        target, backup = self.change.target, _backup(self.change.target)
        if self.change.backup is not None and self.before is not None:
            private_files.write_whole(backup, _encoded(self.before))
        if self.after is None:
            target.unlink()
        else:
            private_files.create_folder(target.parent)
            mode = S_IMODE(target.stat().st_mode) if self.before is not None else None
            private_files.write_whole(target, _encoded(self.after))
            if mode is not None:
                target.chmod(mode)
        # Nothing is lost with a copy of what is there again.
        if self.change.backup is None and backup.exists() and _read(backup) == self.after:
            backup.unlink()


@dataclass(frozen=True, slots=True)
class _ConfigFile:
    path: Path
    entries: tuple[ConfigEntry, ...]
    kind: ConfigFormat
    header: dict[str, Any]

    def extended(self) -> _PlannedFile:
        target, before = self.read()
        text = before or ""
        values = read_config(text, self.kind)
        headers = [entry for entry in self._headers() if entry.key not in values]
        after = with_entries(text, [*headers, *self.entries], self.kind)
        if before is None:
            return self._planned(target, before, after, FileAction.CREATED)
        is_first = not any(own_values(values, entry) for entry in self.entries)
        backup = _backup(target) if is_first and before != after else None
        return self._planned(target, before, after, FileAction.CHANGED, backup)

    def without(self) -> _PlannedFile:
        target, before = self.read()
        if before is None:
            return self._planned(target, None, None, FileAction.UNCHANGED)
        values = read_config(before, self.kind)
        found = [entry for entry in self.entries if own_values(values, entry)]
        original = _read(_backup(target)) if _backup(target).is_file() else None
        after = self._restored(before, found, original)
        action = FileAction.DELETED if after is None else FileAction.CHANGED
        return self._planned(target, before, after, action)

    def _restored(
        self, before: str, found: Sequence[ConfigEntry], original: str | None
    ) -> str | None:
        """Return the text without the entries; None: turnetl made the file, and it is empty."""
        if not found:
            return before
        if original is None:
            after = without_entries(before, found, self.kind)
            values = read_config(after, self.kind)
            is_empty = values in ({}, self.header) and "".join(after.split()) in _made(values)
            return None if is_empty else after
        values = read_config(original, self.kind)
        after = without_entries(before, found, self.kind, keep=containers(values))
        # Only spaces that an entry needed are left: give the file back as it was.
        is_same = "".join(after.split()) == "".join(original.split())
        return original if is_same and read_config(after, self.kind) == values else after

    def read(self) -> tuple[Path, str | None]:
        """Return the file that is written, and its text; None if there is none."""
        path = self.path
        try:
            target = path.resolve(strict=True) if path.is_symlink() else path
        except (OSError, RuntimeError):
            raise BadConfig("is a symbolic link that leads to no file: correct it first") from None
        if not target.exists():
            return target, None
        text = _read(target)
        if not _is_writable(target):
            raise BadConfig("is read-only: make it writable first")
        return target, text

    def _planned(
        self,
        target: Path,
        before: str | None,
        after: str | None,
        action: FileAction,
        backup: Path | None = None,
    ) -> _PlannedFile:
        action = FileAction.UNCHANGED if before == after else action
        lines = tuple(_diff(self._shown(before), self._shown(after)))
        change = FileChange(self.path, target, action, lines, backup)
        return _PlannedFile(change, before, after)

    def _shown(self, text: str | None) -> list[str]:
        """Return turnetl's own entries of a text, as lines of a file that has nothing else.

        Other entries, and what a user added to these, may have secrets.
        """
        values = read_config(text or "", self.kind)
        entries = (*self._headers(), *self.entries)
        own = [
            replace(entry, value=_own_part(entry, found[0]))
            for entry in entries
            if (found := own_values(values, entry))
        ]
        lines = with_entries("", own, self.kind).splitlines() if own else []
        return lines[1:-1] if self.kind is ConfigFormat.JSON else lines

    def _headers(self) -> Iterator[ConfigEntry]:
        for key, value in self.header.items():
            yield ConfigEntry((), key, value, lambda _value: True)


def _own_part(entry: ConfigEntry, found: Any) -> Any:
    """Return a value of an entry with turnetl's keys only."""
    if not isinstance(found, dict):
        return found
    own = {key: value for key, value in found.items() if key in OWN_KEYS}
    return {**entry.value, entry.inner: [own]} if entry.inner else own


def _made(values: dict[str, Any]) -> tuple[str, ...]:
    """Return the texts, without spaces, of a file with nothing but these values."""
    return ("", json.dumps(values, separators=(",", ":")))


def find_agent(name: str) -> Agent:
    """Return the agent with that name.

    Raises:
        BadUsage: there is none.
    """
    found = next((agent for agent in AGENTS if agent.name == name), None)
    if found is None:
        known = ", ".join(agent.name for agent in AGENTS)
        raise BadUsage(f"there is no agent `{name}`; the agents are {known}")
    return found


def config_folder(agent: Agent, machine: AgentMachine) -> Path:
    given = environment_folder(machine, agent.variable) if agent.variable else None
    if given is None:
        return machine.home.joinpath(*agent.folder.split("/"))
    return given / agent.below_variable if agent.below_variable else given


def server_file(agent: Agent, machine: AgentMachine) -> Path:
    folder = config_folder(agent, machine)
    name = agent.file.removeprefix("../")
    is_beside = name != agent.file and folder == machine.home / agent.folder
    other = folder / agent.other_file
    if agent.other_file and other.is_file():
        return other
    return (folder.parent if is_beside else folder) / name


def is_found(agent: Agent, machine: AgentMachine) -> bool:
    """Return whether an agent has a configuration on this machine."""
    folders = (config_folder(agent, machine), *(machine.home / sign for sign in agent.signs))
    return any(folder.is_dir() for folder in folders) or server_file(agent, machine).is_file()


def _backup(path: Path) -> Path:
    return path.with_name(path.name + BACKUP)


def _read(path: Path) -> str:
    try:
        content = private_files.read_regular(path, _MAX_BYTES)
        return content.decode("utf-8")
    except private_files.NotReadable as error:
        raise BadConfig(str(error)) from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise BadConfig(f"is not valid UTF-8 in line {line}: correct it first") from error


def _encoded(text: str) -> bytes:
    return text.encode("utf-8")


def _is_writable(path: Path) -> bool:
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _diff(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    for line in difflib.unified_diff(old, new, n=0, lineterm=""):
        if not line.startswith(("---", "+++", "@@")):
            yield line


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    try:
        private_files.create_folder(path.parent)
        lock = private_files.open_or_create(path)
    except OSError as error:
        raise Fatal(f"`{path}` cannot be written: {error.strerror}; correct that first") from error
    with lock:
        if sys.platform != "win32":
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
