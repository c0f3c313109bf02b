"""docs/prefect.md describes the flows as they are."""

import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from prefect import Flow

from flows.backfill import backfill
from tests.prefect.documented import PAGE, run_of
from tests.prefect.test_prefect_yaml import FLOWS
from turnetl.base.clock import now
from turnetl.ingestion import plan
from turnetl.settings.sections import parse_budget

TABLE = PAGE.partition("## Parameters")[2].partition("\n## ")[0]


@pytest.mark.full
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


@pytest.mark.full
@pytest.mark.parametrize("flow", FLOWS.values(), ids=lambda flow: flow.name)
def test_every_parameter_of_a_flow_has_a_description_in_the_form_of_the_ui(
    flow: Flow[..., Any],
) -> None:
    parameters = flow.parameters.properties
    assert [name for name in parameters if not parameters[name].get("description")] == []


@pytest.mark.full
def test_the_documented_run_gives_parameters_of_the_flow() -> None:
    arguments = run_of("archive.jsonl")
    names = {word.partition("=")[0] for word in arguments if "=" in word}
    parameters = FLOWS["flows.backfill.backfill"].parameters.properties
    assert names == {"archives"} <= parameters.keys()


@pytest.mark.full
@pytest.mark.parametrize(
    "budget",
    [
        "5usd",
        "$2.50",
        "200k tokens",
        "1.5m tokens",
        "none",
        " 1_000 Tok ",
        ["5 Dollars", ".5M-token"],
    ],
)
def test_the_schema_lets_every_budget_pass_that_a_run_reads(budget: str | list[str]) -> None:
    schema = backfill.parameters.properties["budget"]
    Draft202012Validator(schema).validate(budget)
    assert parse_budget([budget] if isinstance(budget, str) else budget)


@pytest.mark.parametrize("time", ["mtime", "2026-03-02", "2026-03-02T09:00+01:00", "20260302"])
def test_the_schema_lets_every_time_pass_that_a_run_assumes(time: str) -> None:
    Draft202012Validator(backfill.parameters.properties["assume_time"]).validate(time)
    assert plan.parse_assumed_time(time, now())
