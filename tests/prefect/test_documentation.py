"""docs/prefect.md describes the flow as it is."""

import re

from flows.backfill import backfill
from tests.prefect.documented import PAGE, run_of


def test_every_parameter_of_the_flow_is_documented_and_no_other() -> None:
    table = PAGE.partition("## Parameters")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`[^|]+) \|", table, flags=re.MULTILINE)
    documented = [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]
    assert sorted(documented) == sorted(backfill.parameters.properties)


def test_the_documented_run_gives_parameters_of_the_flow() -> None:
    arguments = run_of("archive.jsonl")
    names = {word.partition("=")[0] for word in arguments if "=" in word}
    assert names == {"archives"} <= backfill.parameters.properties.keys()
