"""What `turnetl install` does to the files of every agent, and what `uninstall` leaves."""

import json
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.command import CommandResult, clean_environment, command_line, run_in_process
from tests.cli.typed_terminal import answered
from turnetl.agent_sources import AgentMachine
from turnetl.install.agents import (
    AGENTS,
    OWN_KEYS,
    Agent,
    HookMoment,
    hook_command,
    hook_entry,
    server_entry,
)
from turnetl.install.changes import BACKUP, config_folder, server_file
from turnetl.install.config_text import ConfigFormat, read_config

EXISTING = {
    ConfigFormat.JSON: '{\n\t// mine\n\t"theme": "dark", /* b */\n\t"mcpServers": {},\n}\n',
    ConfigFormat.TOML: '# mine\nmodel = "x"  # y\n\n[mcp_servers.other]\ncommand = "z"\n',
}
every_agent = pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)


def _machine(home: Path) -> AgentMachine:
    return AgentMachine({}, home, "linux")


def _with_agent(agent: Agent, home: Path, text: str | None = None) -> Path:
    """Create the configuration of an agent; return its file of servers."""
    file = server_file(agent, _machine(home))
    config_folder(agent, _machine(home)).mkdir(parents=True, exist_ok=True)
    if text is not None:
        file.write_text(text)
    return file


def _install(home: Path, *words: str, verb: str = "install") -> CommandResult:
    return run_in_process(verb, *words, "--yes", folder=home)


def _files(home: Path) -> Mapping[str, bytes]:
    """Return the files of agents."""
    own = home / ".local" / "state"
    files = [path for path in home.rglob("*") if path.is_file() and own not in path.parents]
    return {str(path.relative_to(home)): path.read_bytes() for path in files}


@every_agent
@pytest.mark.parametrize("exists", [False, True], ids=["new", "existing"])
def test_what_is_installed_is_removed_without_a_trace(
    agent: Agent, exists: bool, tmp_path: Path
) -> None:
    file = _with_agent(agent, tmp_path, EXISTING[agent.kind] if exists else None)
    before = _files(tmp_path)

    assert _install(tmp_path, agent.name, "--hooks").exit_code == 0
    servers = read_config(file.read_text(), agent.kind)
    for key in agent.path:
        servers = servers[key]
    assert "mcp" in str(servers["turnetl"])
    if exists:
        assert Path(f"{file}{BACKUP}").read_text() == EXISTING[agent.kind]

    installed = _files(tmp_path)
    again = _install(tmp_path, agent.name, "--hooks")
    assert "nothing to do" in again.stdout
    assert _files(tmp_path) == installed

    assert _install(tmp_path, agent.name, verb="uninstall").exit_code == 0
    assert _files(tmp_path) == before


@every_agent
def test_each_hook_has_a_command_that_names_agent_and_moment(agent: Agent, tmp_path: Path) -> None:
    _with_agent(agent, tmp_path)
    _install(tmp_path, agent.name, "--hooks")
    if agent.hooks is None:
        assert agent.why_less
        return
    text = (config_folder(agent, _machine(tmp_path)) / agent.hooks.file).read_text()
    for moment, event in agent.hooks.events.items():
        assert f"turnetl hook {moment} --agent {agent.name}" in text
        assert event.name in json.loads(text)["hooks"]
    if len(agent.hooks.events) < len(HookMoment):
        assert agent.why_less


def test_one_hook_can_be_chosen_and_others_are_added_later(tmp_path: Path) -> None:
    _with_agent(AGENTS[0], tmp_path)
    settings = tmp_path / ".claude" / "settings.json"
    _install(tmp_path, "claude-code", "--hook", "prompt")
    assert list(json.loads(settings.read_text())["hooks"]) == ["UserPromptSubmit"]
    _install(tmp_path, "claude-code", "--hook", "session-end")
    assert list(json.loads(settings.read_text())["hooks"]) == ["UserPromptSubmit", "SessionEnd"]


def test_what_a_user_changed_since_stays_when_turnetl_is_removed(tmp_path: Path) -> None:
    file = _with_agent(AGENTS[0], tmp_path, '{"a": 1}\n')
    _install(tmp_path, "claude-code")
    file.write_text(file.read_text().replace('"a": 1', '"a": [1,  2], "b": {}'))
    _install(tmp_path, "claude-code", verb="uninstall")
    assert file.read_text() == '{"a": [1,  2], "b": {}}\n'
    assert Path(f"{file}{BACKUP}").read_text() == '{"a": 1}\n'


def test_all_stands_for_the_agents_that_are_found(tmp_path: Path) -> None:
    for agent in AGENTS[:2]:
        _with_agent(agent, tmp_path)
    report = _install(tmp_path, "--all", "--json").json
    assert [one["agent"] for one in report["agents"]] == ["claude-code", "codex"]


def test_the_difference_shows_no_line_that_stays(tmp_path: Path) -> None:
    _with_agent(AGENTS[0], tmp_path, '{\n  "key": "sk-secret",\n  "a": 1\n}\n')
    shown = run_in_process("install", "claude-code", "--dry-run", folder=tmp_path).stdout
    assert '+  "mcpServers": {' in shown
    assert "sk-secret" not in shown
    assert _files(tmp_path) == {".claude.json": b'{\n  "key": "sk-secret",\n  "a": 1\n}\n'}


SECRET = "sk-secret"
OLD = {"command": "/old/turnetl", "args": ["mcp"]}


@pytest.mark.parametrize("verb", ["install", "uninstall"])
@pytest.mark.parametrize(
    "text",
    [
        '{"key": "sk-secret"}',
        '{\n  "key": "sk-secret"\n}\n',
        json.dumps({"mcpServers": {"turnetl": OLD | {"env": {"K": SECRET}}, "b": {"env": SECRET}}}),
        json.dumps({"mcpServers": {"turnetl": OLD, "web": {"url": SECRET}}}, indent=2),
    ],
    ids=["one line", "last", "all in a line", "moved"],
)
def test_the_difference_shows_entries_of_turnetl_only(text: str, verb: str, tmp_path: Path) -> None:
    file = _with_agent(AGENTS[0], tmp_path, text)
    (file.parent / ".claude" / "settings.json").write_text(
        f'{{"apiKey":"{SECRET}","hooks":{{"SessionStart":[]}}}}'
    )
    options = ("--hooks",) if verb == "install" else ()
    shown = run_in_process(verb, "claude-code", "--dry-run", *options, folder=tmp_path).stdout
    assert SECRET not in shown
    assert ("turnetl hook prompt --agent claude-code" in shown) == (verb == "install")
    if "/old/" in text:
        assert '-      "command": "/old/turnetl"' in shown


@every_agent
def test_a_new_program_is_shown_whole_for_each_entry(agent: Agent, tmp_path: Path) -> None:
    file = _with_agent(agent, tmp_path)
    _install(tmp_path, agent.name, "--hooks")
    changed = {file}
    if agent.hooks is not None:
        changed.add(config_folder(agent, _machine(tmp_path)) / agent.hooks.file)
    for path in changed:
        path.write_text(path.read_text().replace("/turnetl", "/v2/turnetl"))
    report = run_in_process("install", agent.name, "--json", "--dry-run", folder=tmp_path).json
    for one in report["agents"][0]["files"]:
        removed = [line for line in one["diff"] if line.startswith("-")]
        added = [line for line in one["diff"] if line.startswith("+")]
        assert [line.replace("/v2/", "/")[1:] for line in removed] == [line[1:] for line in added]
        assert all("turnetl" in line for line in added)
        assert added


def test_turnetl_writes_no_key_that_the_difference_leaves_out(subtests: pytest.Subtests) -> None:
    for agent in AGENTS:
        with subtests.test(agent=agent.name):
            assert server_entry(agent, ("turnetl",)).value.keys() <= OWN_KEYS
            for moment in agent.moments():
                assert agent.hooks is not None
                value = hook_entry(agent.hooks, moment, "x").value
                assert value.get("hooks", [value])[0].keys() <= OWN_KEYS


def test_a_repeated_installation_gives_earlier_hooks_the_present_program_and_no_more(
    tmp_path: Path,
) -> None:
    _with_agent(AGENTS[0], tmp_path)
    settings = tmp_path / ".claude" / "settings.json"
    _install(tmp_path, "claude-code", "--hook", "prompt", "--all-projects")
    values = json.loads(settings.read_text())
    (handler,) = values["hooks"]["UserPromptSubmit"][0]["hooks"]
    program = handler["command"].partition(" hook ")[0]
    handler |= {"command": f"{handler['command']} | tee /tmp/log", "timeout": 60, "env": {"A": "b"}}
    settings.write_text(json.dumps(values).replace(program, "/old/TURNETL.EXE"))
    again = _install(tmp_path, "claude-code", "--json").json
    assert again["agents"][0]["hooks"] == ["prompt"]
    assert json.loads(settings.read_text()) == values

    _install(tmp_path, "claude-code", "--hook", "prompt")
    (handler,) = json.loads(settings.read_text())["hooks"]["UserPromptSubmit"][0]["hooks"]
    assert handler == {
        "type": "command",
        "command": f"{program} hook prompt --agent claude-code",
        "timeout": 10,
        "env": {"A": "b"},
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b'{\n  "a": 1,\n  "b" 2\n}\n', "is not valid JSON in line 3"),
        (b'{"mcpServers": []}', "has no object in `mcpServers`"),
        (b'{"a": "\xff"}', "is not valid UTF-8 in line 1"),
    ],
)
def test_a_file_that_is_not_valid_is_named_and_nothing_is_written(
    text: bytes, problem: str, tmp_path: Path
) -> None:
    file = _with_agent(AGENTS[0], tmp_path)
    file.write_bytes(text)
    result = _install(tmp_path, "claude-code", "--hooks")
    assert result.exit_code == 1
    assert result.messages == [f"turnetl: `{file}` {problem}: correct it first"]
    assert _files(tmp_path) == {".claude.json": text}


def test_toml_that_is_not_valid_is_named_with_its_line(tmp_path: Path) -> None:
    file = _with_agent(AGENTS[1], tmp_path, "a = 1\nb = \n")
    result = _install(tmp_path, "codex")
    assert (result.exit_code, file.read_text()) == (1, "a = 1\nb = \n")
    assert "is not valid TOML" in result.messages[0]
    assert "line 2" in result.messages[0]


def test_an_agent_with_a_broken_file_keeps_no_other_from_being_installed(tmp_path: Path) -> None:
    broken = _with_agent(AGENTS[0], tmp_path, "{")
    other = _with_agent(AGENTS[1], tmp_path)
    result = _install(tmp_path, "--all")
    assert result.exit_code == 1
    assert broken.read_text() == "{"
    assert "[mcp_servers.turnetl]" in other.read_text()


def test_a_read_only_file_is_not_changed(tmp_path: Path) -> None:
    file = _with_agent(AGENTS[0], tmp_path, "{}")
    file.chmod(0o400)
    # The administrator may write it all the same.
    probe = subprocess.run(["test", "-w", file], check=False)
    result = _install(tmp_path, "claude-code")
    if probe.returncode:
        assert "is read-only" in result.messages[0]
        assert file.read_text() == "{}"
    assert file.stat().st_mode & 0o777 == 0o400


def test_a_link_is_followed_and_stays(tmp_path: Path) -> None:
    file = _with_agent(AGENTS[0], tmp_path)
    target = tmp_path / "dotfiles" / "claude.json"
    target.parent.mkdir()
    target.write_text("{}")
    file.symlink_to(target)
    result = _install(tmp_path, "claude-code")
    assert f"{file}, which leads to {target}" in " ".join(result.stdout.split())
    assert file.is_symlink()
    assert "turnetl" in target.read_text()
    _install(tmp_path, "claude-code", verb="uninstall")
    assert (file.is_symlink(), target.read_text()) == (True, "{}")


def test_a_link_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    file = _with_agent(AGENTS[0], tmp_path)
    file.symlink_to(tmp_path / "gone")
    assert "leads to no file" in _install(tmp_path, "claude-code").messages[0]


def test_an_agent_that_is_not_found_needs_force(tmp_path: Path) -> None:
    result = _install(tmp_path, "cursor")
    assert result.exit_code == 2
    assert "--force creates its configuration" in result.messages[0]
    assert _install(tmp_path, "cursor", "--force").exit_code == 0
    assert (tmp_path / ".cursor" / "mcp.json").is_file()


def test_a_file_of_another_name_is_taken_if_it_exists(tmp_path: Path) -> None:
    folder = tmp_path / ".config" / "opencode"
    folder.mkdir(parents=True)
    (folder / "opencode.jsonc").write_text("{\n  // mine\n}\n")
    _install(tmp_path, "opencode")
    assert "// mine" in (folder / "opencode.jsonc").read_text()
    assert not (folder / "opencode.json").exists()


def test_another_server_of_that_name_stays(tmp_path: Path) -> None:
    text = '{"mcpServers": {"turnetl": {"url": "http://127.0.0.1:1/mcp"}}}'
    file = _with_agent(AGENTS[0], tmp_path, text)
    assert "another entry `mcpServers.turnetl`" in _install(tmp_path, "claude-code").messages[0]
    assert file.read_text() == text


def test_nobody_is_asked_without_a_terminal_and_nothing_is_written(tmp_path: Path) -> None:
    _with_agent(AGENTS[0], tmp_path)
    result = run_in_process("install", "claude-code", folder=tmp_path)
    assert (result.exit_code, _files(tmp_path)) == (1, {})
    assert result.messages == [
        "turnetl: nothing was written: confirm it on a terminal, or add --yes"
    ]


@pytest.mark.parametrize("program", ["C:\\bin\\turnetl.exe", "C:\\Program Files\\turnetl.exe"])
@every_agent
def test_on_windows_a_shell_runs_the_command_of_a_hook(agent: Agent, program: str) -> None:
    """A path in quotes is a text for PowerShell, unless `&` calls it."""
    for moment in agent.moments():
        line = hook_command(agent, moment, (program,), windows=True)
        assert "\\" not in line
        calls = line.startswith("& ")
        assert calls == (" " in program and agent.name in ("codex", "gemini", "cursor"))
        entry = hook_entry(agent.hooks, moment, line) if agent.hooks else None
        assert entry is not None
        handler = entry.value.get("hooks", [entry.value])[0]
        assert entry.is_own(handler)


def test_an_apostrophe_is_doubled_for_powershell() -> None:
    program = ("C:\\Users\\O'Brien\\turnetl.exe",)
    by_name = {agent.name: agent for agent in AGENTS}
    line = hook_command(by_name["cursor"], HookMoment.SESSION_END, program, windows=True)
    assert line.startswith("& 'C:/Users/O''Brien/turnetl.exe' hook session-end ")
    posix = hook_command(by_name["claude-code"], HookMoment.SESSION_END, program, windows=True)
    assert shlex.split(posix)[0] == "C:/Users/O'Brien/turnetl.exe"
    hooks = by_name["copilot"].hooks
    assert hooks is not None
    both = hook_entry(hooks, HookMoment.SESSION_END, posix).value
    assert (both["bash"], both["powershell"]) == (posix, line.replace("cursor", "claude-code"))


def test_two_installations_lose_nothing_of_each_other(tmp_path: Path) -> None:
    file = _with_agent(AGENTS[0], tmp_path, "{}\n")
    running = [
        subprocess.Popen(
            command_line("install", "claude-code", "--yes", "--hook", moment),
            cwd=tmp_path,
            env=clean_environment(tmp_path),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for moment in ("prompt", "session-end")
    ]
    ended = [(process.communicate()[1], process.returncode) for process in running]
    hooks = json.loads((tmp_path / ".claude" / "settings.json").read_text())["hooks"]
    refused = [error for error, code in ended if code]
    assert all("was changed since its difference was shown" in error for error in refused)
    assert len(refused) <= 1
    assert len(hooks) == 2 - len(refused)
    assert "turnetl" in json.loads(file.read_text())["mcpServers"]


def test_the_lines_that_change_are_printed_whole_on_a_narrow_terminal(tmp_path: Path) -> None:
    agent = next(agent for agent in AGENTS if agent.name == "claude-code")
    _with_agent(agent, tmp_path)
    output, _ = answered(
        "install", agent.name, "--hooks", "--dry-run", folder=tmp_path, typed="", COLUMNS="60"
    )
    assert 'hook session-end --agent claude-code",\n' in output


def test_without_agents_nobody_is_asked_about_hooks(tmp_path: Path) -> None:
    output, code = answered("install", "--all", folder=tmp_path, typed="y\n")
    assert (code, "[y/N]" in output) == (0, False)
    assert "no agent is found on this machine" in output
