"""What holds for every format."""

import tomllib
from pathlib import Path

from turnetl import formats


def test_every_format_is_in_the_contract_that_keeps_formats_apart() -> None:
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    contracts = tomllib.loads(text)["tool"]["importlinter"]["contracts"]
    (apart,) = [one for one in contracts if one["type"] == "independence"]
    assert {type(known).__module__ for known in formats.KNOWN} == set(apart["modules"])
