"""Configurations of agents: entries go in and out of the text, and nothing else changes."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnetl.install.config_text import (
    BadConfig,
    ConfigEntry,
    ConfigFormat,
    containers,
    read_config,
    with_entries,
    without_entries,
)


def _is_own(value: Any) -> bool:
    return isinstance(value, dict) and value.get("command") == "turnetl"


SERVER = ConfigEntry(("mcpServers",), "turnetl", {"command": "turnetl", "args": ["mcp"]}, _is_own)
HOOK = ConfigEntry(
    ("hooks", "SessionStart"),
    None,
    {"matcher": "startup", "hooks": [{"type": "command", "command": "turnetl"}]},
    _is_own,
    "hooks",
)
TABLE = ConfigEntry(("mcp_servers",), "turnetl", {"command": "turnetl", "args": ["mcp"]}, _is_own)
JSON, TOML = ConfigFormat.JSON, ConfigFormat.TOML

CONFIGS = [
    "{}",
    "{}\n",
    '{"a": 1}\n',
    '{"a":1,"b":2}',
    '{\n  "a": 1\n}\n',
    '{\n\t"a": 1, // why\n\t"mcpServers": {"x": {"command": "y"}} // last\n}\n',
    '{\n  "hooks": {\n    "SessionStart": [\n      {"hooks": []},\n    ],\n  },\n}\n',
    '{\r\n    "mcpServers": {\r\n        // none\r\n    }\r\n}\r\n',
    '// first\n{"a": [1, 2], /* b */ "c": {"d": null}}',
    '\ufeff{"hooks": {"SessionStart": []}}',
    '{"a": 1 // no line after it\n}',
]


def _json_texts() -> st.SearchStrategy[str]:
    """Return configurations with comments, in any layout."""
    names = st.sampled_from(["a", "mcpServers", "hooks", "SessionStart", "x y", "ä"])
    leaves = st.one_of(st.integers(), st.booleans(), st.none(), st.text(max_size=5))
    values = st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=3)
        ),
        max_leaves=12,
    )
    documents = st.dictionaries(st.sampled_from(["a", "b", "c"]), values, max_size=3)
    places = st.fixed_dictionaries(
        {},
        optional={
            "mcpServers": st.dictionaries(names, st.just({"command": "other"}), max_size=3),
            "hooks": st.fixed_dictionaries(
                {}, optional={"SessionStart": st.lists(st.just({"hooks": []}), max_size=2)}
            ),
        },
    )
    layouts = st.tuples(
        st.sampled_from([None, 1, 2, 4, "\t"]),
        st.sampled_from(["\n", "\r\n"]),
        st.sampled_from(["", " // comment", " /* a, {b */"]),
    )
    return st.builds(_laid_out, documents, places, layouts)


def _laid_out(
    document: dict[str, Any], places: dict[str, Any], layout: tuple[Any, str, str]
) -> str:
    indent, newline, comment = layout
    text = json.dumps(document | places, indent=indent, ensure_ascii=False)
    if indent is not None:
        text = text.replace(",\n", f",{comment}\n")
    return text.replace("\n", newline) + newline


@given(_json_texts())
def test_entries_go_into_any_json_and_out_of_it_without_a_trace(text: str) -> None:
    _check_round_trip(text, [SERVER, HOOK], JSON)


@pytest.mark.parametrize("text", CONFIGS)
def test_entries_go_into_a_layout_and_out_of_it_without_a_trace(text: str) -> None:
    _check_round_trip(text, [SERVER, HOOK], JSON)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a = 1\n",
        "# why\n[mcp_servers.x]\ncommand = 'y' # z\n",
        "[mcp_servers]\n\n# e\n",
        "a = 1\r\n[b]\r\nc = [\r\n 1,\r\n]\r\n",
        'a = """\n[mcp_servers.turnetl]\n"""\n',
    ],
)
def test_a_table_goes_into_toml_and_out_of_it_without_a_trace(text: str) -> None:
    changed = with_entries(text, [TABLE], TOML)
    assert read_config(changed, TOML)["mcp_servers"]["turnetl"] == TABLE.value
    assert with_entries(changed, [TABLE], TOML) == changed
    if '"""' not in text:
        assert without_entries(changed, [TABLE], TOML) == text
        later = changed + '\n[z]\nq = "r" # s\n'
        assert without_entries(later, [TABLE], TOML) == text + '\n[z]\nq = "r" # s\n'


def _check_round_trip(text: str, entries: list[ConfigEntry], kind: ConfigFormat) -> None:
    before = read_config(text, kind)
    changed = with_entries(text, entries, kind)
    assert with_entries(changed, entries, kind) == changed
    after = read_config(changed, kind)
    assert after["mcpServers"]["turnetl"] == SERVER.value
    assert after["hooks"]["SessionStart"][-1] == HOOK.value
    restored = without_entries(changed, entries, kind, keep=containers(before))
    assert read_config(restored, kind) == before
    # An empty object may lose the spaces in it.
    assert "".join(restored.split()) == "".join(text.split())


def test_what_was_added_since_stays_byte_for_byte() -> None:
    changed = with_entries('{\n  "a": 1 // one\n}\n', [SERVER], JSON)
    edited = changed.replace('"a": 1', '"a":   [1,\n 2]').replace("\n}\n", ',\n  "z": {} // z\n}\n')
    assert without_entries(edited, [SERVER], JSON) == (
        '{\n  "a":   [1,\n 2], // one\n  "z": {} // z\n}\n'
    )


def test_a_hook_of_somebody_else_in_the_same_group_stays() -> None:
    text = '{"hooks": {"SessionStart": [{"hooks": [{"command": "turnetl"}, {"command": "x"}]}]}}'
    assert without_entries(text, [HOOK], JSON) == (
        '{"hooks": {"SessionStart": [{"hooks": [ {"command": "x"}]}]}}'
    )


@pytest.mark.parametrize(
    ("entry", "kind", "text"),
    [
        (SERVER, JSON, '{"mcpServers": {"turnetl": {"command": "turnetl", "args": ["old"]%s}}}'),
        (TABLE, TOML, '[mcp_servers.turnetl]\ncommand = "turnetl"\nargs = ["old"]\n%s'),
    ],
)
def test_what_a_user_added_to_an_entry_stays_when_it_is_replaced(
    entry: ConfigEntry, kind: ConfigFormat, text: str
) -> None:
    kept = {"timeout": 60, "tools": {"search": {"approval mode": ["auto"]}}}
    added = {
        JSON: f", {json.dumps(kept)[1:-1]}",
        TOML: 'timeout = 60\n[mcp_servers.turnetl.tools.search]\n"approval mode" = ["auto"]\n',
    }
    for more, others in (("", {}), (added[kind], kept)):
        changed = with_entries(text % more, [entry], kind)
        server = read_config(changed, kind)[entry.path[0]]["turnetl"]
        assert server == {"command": "turnetl", "args": ["mcp"], **others}
        assert with_entries(changed, [entry], kind) == changed
        assert read_config(without_entries(changed, [entry], kind), kind) == {}


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ('{\n  "a": 1\n  "b": 2\n}', JSON, "is not valid JSON in line 3"),
        ('{"a": tru}', JSON, "is not valid JSON in line 1"),
        ('{"a": 1} x', JSON, "is not valid JSON in line 1"),
        ('{\n"a": [1, 2\n', JSON, "is not valid JSON in line 3"),
        ("[" * 500, JSON, "is not valid JSON"),
        ("[]", JSON, "has no object in `the root`"),
        ('{"mcpServers": []}', JSON, "has no object in `mcpServers`"),
        ('{"mcpServers": {"turnetl": {"url": "http://x"}}}', JSON, "another entry"),
        ("a = \n", TOML, "line 1"),
        ("mcp_servers = {x = {command = 'y'}}\n", TOML, "edit it by hand"),
    ],
)
def test_a_configuration_that_cannot_be_changed_says_why(
    text: str, kind: ConfigFormat, message: str
) -> None:
    entry = TABLE if kind is TOML else SERVER
    with pytest.raises(BadConfig, match=message.replace("(", r"\(")):
        with_entries(text, [entry], kind)
