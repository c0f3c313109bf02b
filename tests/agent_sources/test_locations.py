"""Where agents keep archives, by environment, home folder and platform."""

import glob
from dataclasses import replace
from pathlib import Path

import pytest

from tests.agent_sources.homes import machine
from turnetl.agent_sources.locations import Location, agent_locations, windows_homes

HOME = Path("/home/dev").absolute()
DEFAULTS = {
    "Claude Code": HOME / ".claude",
    "Codex CLI": HOME / ".codex",
    "Gemini CLI": HOME / ".gemini",
    "OpenCode": HOME / ".local/share/opencode",
    "Kilo Code": HOME / ".local/share/kilo",
    "Copilot CLI": HOME / ".copilot",
    "Pi": HOME / ".pi/agent",
    "OpenClaw": HOME / ".openclaw",
    "OMP": HOME / ".omp/agent",
    "Factory Droid": HOME / ".factory",
    "Cursor CLI": HOME / ".cursor",
    "Qwen Code": HOME / ".qwen",
    "Kiro CLI": HOME / ".kiro",
    "Cline": HOME / ".cline/data",
    "Antigravity CLI": HOME / ".gemini/antigravity-cli",
    "Antigravity": HOME / ".gemini/antigravity",
    "Kimi Code": HOME / ".kimi-code",
    "Continue": HOME / ".continue",
    "Windsurf": HOME / ".windsurf",
    "Grok CLI": HOME / ".grok",
    "Hermes": HOME / ".hermes",
    "DeepSeek": HOME / ".dsh",
    "Amp": HOME / ".local/share/amp",
}
XDG = {"OpenCode", "Kilo Code", "Kiro CLI", "Zed", "Amp", "Goose", "Devin CLI"}
"""Agents that one variable moves."""
GOOSE = {
    "linux": HOME / ".local/share/goose",
    "darwin": HOME / ".local/share/goose",
    "win32": HOME / "AppData/Roaming/Block/goose/data",
}
ZED = {
    "linux": ".local/share/zed",
    "darwin": "Library/Application Support/Zed",
    "win32": "AppData/Local/Zed",
}
EXTENSIONS = {
    "linux": HOME / ".config",
    "darwin": HOME / "Library/Application Support",
    "win32": HOME / "AppData/Roaming",
}


def first_locations(platform: str = "linux", **environment: str) -> dict[str, Location]:
    locations = agent_locations(machine(HOME, platform, **environment))
    return {location.agent: location for location in reversed(locations)}


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_without_variables_the_folders_are_in_the_home_folder(platform: str) -> None:
    found = first_locations(platform)
    for agent in ("Roo Code", "Copilot Chat", "Claude Cowork"):
        assert EXTENSIONS[platform] in found.pop(agent).folder.parents
    assert EXTENSIONS[platform] in found.pop("Cursor").folder.parents
    assert found.pop("Zed").folder == HOME / ZED[platform] / "threads"
    assert found.pop("Goose").folder == GOOSE[platform]
    devin = "AppData/Local" if platform == "win32" else ".local/share"
    assert found.pop("Devin CLI").folder == HOME / devin / "devin/cli"
    assert {agent: location.folder for agent, location in found.items()} == DEFAULTS
    assert not any(location.variable for location in found.values())


@pytest.mark.parametrize(
    ("variable", "agent", "folder"),
    [
        ("CLAUDE_CONFIG_DIR", "Claude Code", "/data/x"),
        ("CODEX_HOME", "Codex CLI", "/data/x"),
        ("GEMINI_CLI_HOME", "Gemini CLI", "/data/x/.gemini"),
        ("XDG_DATA_HOME", "OpenCode", "/data/x/opencode"),
        ("COPILOT_HOME", "Copilot CLI", "/data/x"),
        ("PI_CODING_AGENT_DIR", "Pi", "/data/x"),
        ("OPENCLAW_STATE_DIR", "OpenClaw", "/data/x"),
        ("CONTINUE_GLOBAL_DIR", "Continue", "/data/x"),
        ("DSH_HOME", "DeepSeek", "/data/x"),
        ("XDG_DATA_HOME", "Amp", "/data/x/amp"),
        ("XDG_DATA_HOME", "Goose", "/data/x/goose"),
    ],
)
def test_a_variable_moves_the_folder_of_its_agent_only(
    variable: str, agent: str, folder: str
) -> None:
    found = first_locations(**{variable: "/data/x"})
    assert found[agent].folder == Path(folder)
    assert found[agent].variable == variable
    names = DEFAULTS.keys() - (XDG if agent in XDG else {agent})
    assert all(found[name].folder == DEFAULTS[name] for name in names)


@pytest.mark.parametrize("value", ["", "relative/path", "."])
@pytest.mark.parametrize(
    "variable", ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_DATA_HOME"]
)
def test_a_variable_that_is_empty_or_relative_is_ignored(variable: str, value: str) -> None:
    assert first_locations(**{variable: value}) == first_locations()


def test_a_variable_may_begin_with_the_home_folder() -> None:
    found = first_locations(CLAUDE_CONFIG_DIR="~/agents/claude")
    assert found["Claude Code"].folder == HOME / "agents/claude"


def test_versions_of_claude_code_that_follow_xdg_are_found_too() -> None:
    folders = [location.folder for location in agent_locations(machine(HOME))]
    assert HOME / ".config/claude" in folders
    moved = agent_locations(machine(HOME, XDG_CONFIG_HOME="/etc/xdg"))
    assert Path("/etc/xdg/claude") in [location.folder for location in moved]


def test_two_variables_to_one_folder_give_it_once() -> None:
    locations = agent_locations(machine(HOME, XDG_CONFIG_HOME=str(HOME)))
    folders = [location.folder for location in locations]
    assert len(folders) == len(set(folders))


@pytest.mark.parametrize(
    ("platform", "path"),
    [
        ("linux", "/etc/claude-code/managed-settings.json"),
        ("darwin", "/Library/Application Support/ClaudeCode/managed-settings.json"),
        ("win32", str(Path(r"D:\Programs") / "ClaudeCode" / "managed-settings.json")),
    ],
)
def test_the_settings_of_an_organisation_precede_those_of_the_user(
    platform: str, path: str
) -> None:
    environment = {"PROGRAMFILES": r"D:\Programs"}
    settings = first_locations(platform, **environment)["Claude Code"].settings
    assert settings == (Path(path), HOME / ".claude" / "settings.json")


def test_from_wsl_the_homes_on_the_drive_of_windows_are_searched_too(tmp_path: Path) -> None:
    users = tmp_path / "c" / "Users"
    for name in ("dev/AppData/Roaming", "Public/Documents"):
        (users / name).mkdir(parents=True)
    assert windows_homes(users, {}) == ()
    wsl = {"WSL_DISTRO_NAME": "Ubuntu"}
    assert windows_homes(tmp_path / "nowhere", wsl) == ()
    homes = windows_homes(users, wsl)
    assert homes == (users / "dev",)
    here = machine(HOME, CODEX_HOME="/data/codex")
    found = agent_locations(replace(here, windows_homes=homes))
    own = agent_locations(here)
    assert found[: len(own)] == own
    windows = {one.agent: one for one in reversed(found[len(own) :])}
    assert windows["Codex CLI"].folder == users / "dev" / ".codex"
    assert windows["Cline"].folder == users / "dev" / ".cline" / "data"
    assert users / "dev/AppData/Roaming" in windows["Copilot Chat"].folder.parents
    managed = tmp_path / "c" / "Program Files" / "ClaudeCode" / "managed-settings.json"
    assert windows["Claude Code"].settings[0] == managed


def test_a_folder_name_with_glob_characters_is_taken_as_it_is(tmp_path: Path) -> None:
    home = tmp_path / "home[1]*"
    chats = home / ".gemini" / "tmp" / "abc" / "chats"
    chats.mkdir(parents=True)
    (gemini,) = (one for one in agent_locations(machine(home)) if one.agent == "Gemini CLI")
    assert [Path(path) for path in glob.glob(gemini.archives[0])] == [chats]  # noqa: PTH207
