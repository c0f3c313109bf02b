"""An installation: what it changes in the configuration of agents, before and after."""

from collections.abc import Iterator, Mapping, Sequence

from turnetl.base.exit_code import ExitCode
from turnetl.base.text import plural
from turnetl.install.changes import AgentChange, FileAction, FileChange, InstallReport
from turnetl.views.nodes import Caption, Lines, Node, View, line, unwrapped

NOT_CONFIRMED = "nothing was written: confirm it on a terminal, or add --yes"
_NOTHING = "nothing was changed"
_STYLES = {"+": "green", "-": "red"}
_PLANNED = {
    FileAction.CREATED: "will be created",
    FileAction.CHANGED: "will be changed",
    FileAction.DELETED: "will be deleted: it holds nothing else",
    FileAction.UNCHANGED: "stays as it is",
    FileAction.REFUSED: "stays as it is",
}
_DONE = {
    **_PLANNED,
    FileAction.CREATED: "is created",
    FileAction.CHANGED: "is changed",
    FileAction.DELETED: "is deleted: it held nothing else",
}


def preview(report: InstallReport) -> View:
    """Return each file with the lines that change."""
    return _agents(report.agents, _PLANNED, removes=report.removes)


def result(report: InstallReport) -> View:
    agents = [one for one in report.agents if one.is_changed or one.problems]
    return [*_agents(agents, _DONE, removes=report.removes), Caption(_summary(report))]


def question(report: InstallReport) -> str:
    files = {one.target for agent in report.agents for one in agent.files}
    return f"Change {plural(len(files), 'file')}?"


def messages(report: InstallReport) -> list[str]:
    return list(report.problems)


def exit_code(report: InstallReport) -> int:
    return ExitCode.FAILED if report.problems else ExitCode.DONE


def _agents(
    agents: Sequence[AgentChange], verbs: Mapping[FileAction, str], *, removes: bool
) -> View:
    nodes: list[Node] = []
    for agent in agents:
        hooks = f"hooks: {', '.join(agent.hooks)}" if agent.hooks else "no hooks"
        nodes.append(line((agent.title, "bold"), "" if removes else f"  server, {hooks}"))
        nodes += [Lines(list(_file(file, verbs)), indent=2) for file in agent.files]
        nodes += [Lines([Caption(agent.note)], indent=2)] if agent.note else []
    return nodes


def _file(file: FileChange, verbs: Mapping[FileAction, str]) -> Iterator[Node]:
    leads = f", which leads to {file.target}," if file.target != file.path else ""
    yield line(f"{file.path}{leads} {verbs[file.action]}")
    if file.backup is not None:
        yield line((f"as it was: {file.backup}", "dim"))
    if verbs is _PLANNED:
        yield Lines([unwrapped((one, _STYLES[one[0]])) for one in file.diff], indent=2)


def _summary(report: InstallReport) -> str:
    if not report.agents:
        return "nothing to do: no agent is found on this machine"
    changed = [agent.title for agent in report.agents if agent.is_changed]
    verb = "removed from" if report.removes else "registered with"
    if not changed:
        names = ", ".join(agent.title for agent in report.agents if not agent.problems)
        state = "not" if report.removes else "already"
        return f"nothing to do: turnetl is {state} registered with {names}" if names else _NOTHING
    again = "" if report.removes else "; restart a running agent, then ask it what was decided"
    return f"turnetl is {verb} {', '.join(changed)}{again}"
