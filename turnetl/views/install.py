"""An installation: what it changes in the configuration of agents, before and after."""

from collections.abc import Iterator

from turnetl.base.exit_code import ExitCode
from turnetl.base.text import plural
from turnetl.install.changes import AgentChange, FileAction, FileChange, InstallReport
from turnetl.views.nodes import Caption, Lines, Node, View, line, unwrapped

NOT_CONFIRMED = "nothing was written: confirm it on a terminal, or add --yes"
_STYLES = {"+": "green", "-": "red"}
_PLANNED = {
    FileAction.CREATED: "is created",
    FileAction.CHANGED: "is changed",
    FileAction.DELETED: "is deleted: it holds nothing else",
    FileAction.UNCHANGED: "stays",
    FileAction.REFUSED: "is not changed",
}


def preview(report: InstallReport) -> View:
    """Return each file with the lines that change."""
    return [node for agent in report.agents for node in _agent(agent, shows_lines=True)]


def result(report: InstallReport) -> View:
    nodes = [node for agent in report.agents for node in _agent(agent, shows_lines=False)]
    return [*nodes, Caption(_summary(report))]


def question(report: InstallReport) -> str:
    files = {one.target for agent in report.agents for one in agent.files}
    return f"Change {plural(len(files), 'file')}?"


def messages(report: InstallReport) -> list[str]:
    return list(report.problems)


def exit_code(report: InstallReport) -> int:
    return ExitCode.FAILED if report.problems else ExitCode.DONE


def _agent(agent: AgentChange, *, shows_lines: bool) -> Iterator[Node]:
    hooks = f"hooks: {', '.join(agent.hooks)}" if agent.hooks else "no hooks"
    yield line((agent.title, "bold"), f"  server, {hooks}")
    for file in agent.files:
        yield Lines(list(_file(file, shows_lines=shows_lines)), indent=2)
    if agent.note:
        yield Lines([Caption(agent.note)], indent=2)


def _file(file: FileChange, *, shows_lines: bool) -> Iterator[Node]:
    leads = f", a link to {file.target}, which is written" if file.target != file.path else ""
    yield line(f"{file.path}{leads} {_PLANNED[file.action]}")
    if file.backup is not None:
        yield line((f"as it was: {file.backup}", "dim"))
    if shows_lines:
        yield Lines([unwrapped((one, _STYLES[one[0]])) for one in file.diff], indent=2)


def _summary(report: InstallReport) -> str:
    if not report.agents:
        return "nothing to do: no agent is found on this machine"
    changed = [agent.title for agent in report.agents if agent.is_changed]
    if not changed:
        return "nothing to do"
    verb = "removed from" if report.removes else "registered with"
    again = "" if report.removes else "; restart a running agent, then ask it what was decided"
    return f"turnetl is {verb} {', '.join(changed)}{again}"
