"""`turnetl install`, `turnetl uninstall`, and the hooks that they register."""

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from turnetl import console
from turnetl.base.errors import BadUsage
from turnetl.base.exit_code import ExitCode
from turnetl.cli.confirmation import Confirmation, Yes
from turnetl.cli.options import NO_COMMON, NO_SETTINGS, CommonOptions, Flag, SettingsOptions
from turnetl.install.agents import HookMoment

if TYPE_CHECKING:  # importing these takes a moment, which `--help` must not spend
    from turnetl.agent_sources import AgentMachine
    from turnetl.install.agents import Agent
    from turnetl.install.changes import Installation, InstallReport

_All = Annotated[Flag, Parameter(name="--all")]
_HOOKS_QUESTION = (
    "Register hooks, too: the last decisions at the start of a session, past turns that match a "
    "prompt, and a backfill after a session?"
)


def install(
    *agents: str,
    every: _All = False,
    hooks: Flag = False,
    hook: Annotated[tuple[HookMoment, ...], Parameter(negative="", show_default=False)] = (),
    all_projects: Flag = False,
    force: Flag = False,
    dry_run: Flag = False,
    yes: Yes = False,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Register the history with coding agents: the MCP server and, if wanted, hooks.

    Args:
        agents: claude-code, codex, gemini, antigravity, opencode, cursor, copilot.
        every: Every agent that is found on this machine.
        hooks: Register all hooks that the agent has; on a terminal, you are asked.
        hook: Register one hook; repeatable.
        all_projects: Let hooks also quote other projects than that of the session.
        force: Also create the configuration of an agent that is not found.
        dry_run: Print what would change and write nothing.
        yes: Do not ask.
    """
    options = ("--all-projects",) if all_projects else ()
    from turnetl.install.changes import Installation

    machine = _machine()
    chosen = _chosen(agents, machine, every=every, force=force)
    wanted = tuple(HookMoment) if hooks else hook
    if chosen and not wanted and not yes and not dry_run and not common.json:
        wanted = tuple(HookMoment) if console.confirm(_HOOKS_QUESTION) else ()
    work = Installation(machine, chosen, _command(common), wanted, options)
    return _carried_out(work, Confirmation(dry_run, yes, common))


def uninstall(
    *agents: str,
    every: _All = False,
    dry_run: Flag = False,
    yes: Yes = False,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Remove what `turnetl install` added to the configuration of agents, and nothing else.

    Args:
        agents: claude-code, codex, gemini, antigravity, opencode, cursor, copilot.
        every: Every agent that is found on this machine.
        dry_run: Print what would change and write nothing.
        yes: Do not ask.
    """
    from turnetl.install.changes import Installation

    machine = _machine()
    chosen = _chosen(agents, machine, every=every, force=True)
    work = Installation(machine, chosen, _command(common), tuple(HookMoment), removes=True)
    return _carried_out(work, Confirmation(dry_run, yes, common))


def hook(
    moment: HookMoment,
    /,
    *,
    agent: str,  # noqa: ARG001 - `turnetl.__main__` answers
    all_projects: Flag = False,  # noqa: ARG001 - as above
    options: SettingsOptions = NO_SETTINGS,  # noqa: ARG001 - as above
) -> int:
    """Answer an agent that calls a hook: JSON on standard input, JSON on standard output.

    Args:
        moment: When the agent calls.
        agent: The name of the agent.
        all_projects: Also quote other projects than that of the session.
    """
    raise BadUsage(f"`turnetl hook {moment}` is started by an agent, as the only command")


def _machine() -> "AgentMachine":
    from turnetl import wiring

    return wiring.this_machine()


def _chosen(
    names: tuple[str, ...], machine: "AgentMachine", *, every: bool, force: bool
) -> "tuple[Agent, ...]":
    from turnetl.install.agents import AGENTS
    from turnetl.install.changes import config_folder, find_agent, is_found

    found = tuple(agent for agent in AGENTS if is_found(agent, machine))
    if every and names:
        raise BadUsage("`--all` stands for all agents: name none, or leave it out")
    if every:
        return found
    if not names:
        here = ", ".join(agent.name for agent in found) or "none"
        raise BadUsage(f"name an agent, or give --all; found on this machine: {here}")
    chosen = tuple(find_agent(name) for name in dict.fromkeys(names))
    for agent in () if force else chosen:
        if agent not in found:
            raise BadUsage(
                f"{agent.title} is not found, because `{config_folder(agent, machine)}` does not "
                "exist; --force creates its configuration"
            )
    return chosen


def _command(common: CommonOptions) -> tuple[str, ...]:
    """Return the program that agents start, and the options that select the same history."""
    program = Path(sys.argv[0]).absolute()
    if program.stem != "turnetl":
        program = Path(shutil.which("turnetl") or Path(sys.executable).with_name("turnetl"))
    lake = common.lake and (common.lake if "://" in common.lake else Path(common.lake).absolute())
    config = common.config and common.config.absolute()
    options = {"--lake": lake, "--graph": common.graph, "--config": config}
    given = ((name, str(value)) for name, value in options.items() if value)
    return (str(program), *(word for option in given for word in option))


def _carried_out(work: "Installation", confirmation: Confirmation) -> int:
    from turnetl.settings import trust_store
    from turnetl.views import install as view

    report = work.plan()
    if not report.is_changed and not report.problems:
        console.print_result(view.result(report), report, as_json=confirmation.common.json)
        return ExitCode.DONE

    async def execute(progress: object) -> "InstallReport":  # noqa: ARG001 - it takes no time
        return work.execute(report, trust_store().path.parent)

    return confirmation.execute(report, execute, view)
