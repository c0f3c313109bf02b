"""What a tool call is about: its targets, or none."""

import pytest

from tests.builders import tool
from turnetl.base.model import AgentCall
from turnetl.extraction.structural.tool_calls import CallKind, classify_calls

TOOLS = ("WebSearch", "Bash", "Read", "Edit", "WebFetch", "Skill", "Task")


@pytest.mark.parametrize("name", TOOLS)
@pytest.mark.parametrize("given", ["null", " null ", "", "[]", "{}", '""', "undefined", "None"])
def test_a_call_without_arguments_has_no_target(name: str, given: str) -> None:
    [call] = classify_calls([AgentCall(tool(name, given))])
    assert call.kind is not CallKind.OTHER
    assert (call.targets, call.detail) == ((), "")


@pytest.mark.parametrize("given", ["null pointer in go", "[] in zsh", "nullable"])
def test_a_text_that_only_begins_like_no_arguments_is_a_target(given: str) -> None:
    [call] = classify_calls([AgentCall(tool("WebSearch", given))])
    assert call.targets == (given,)
