"""docs/prefect.md describes the flows as they are."""

import re
from typing import Any

import pytest
from prefect import Flow

from tests.prefect.documented import PAGE, run_of
from tests.prefect.test_prefect_yaml import FLOWS

TABLE = PAGE.partition("## Parameters")[2].partition("\n## ")[0]


@pytest.mark.parametrize("flow", FLOWS.values(), ids=lambda flow: flow.name)
def test_every_parameter_of_a_flow_is_documented_and_no_other(flow: Flow[..., Any]) -> None:
    rows = re.findall(r"^\| (`[^|]+) \| ([^|]+) \|", TABLE, flags=re.MULTILINE)
    documented = [
        name
        for names, flows in rows
        for name in re.findall(r"`(\w+)`", names)
        if flows == "all" or flow.name in re.findall(r"`([\w-]+)`", flows)
    ]
    assert sorted(documented) == sorted(flow.parameters.properties)


@pytest.mark.parametrize("flow", FLOWS.values(), ids=lambda flow: flow.name)
def test_every_parameter_of_a_flow_has_a_description_in_the_form_of_the_ui(
    flow: Flow[..., Any],
) -> None:
    parameters = flow.parameters.properties
    assert [name for name in parameters if not parameters[name].get("description")] == []


def test_the_documented_run_gives_parameters_of_the_flow() -> None:
    arguments = run_of("archive.jsonl")
    names = {word.partition("=")[0] for word in arguments if "=" in word}
    parameters = FLOWS["flows.backfill.backfill"].parameters.properties
    assert names == {"archives"} <= parameters.keys()
