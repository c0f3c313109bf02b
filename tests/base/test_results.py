"""A result is declared once: its described fields and properties are its JSON object and schema."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Generic, NewType, TypeVar

import pytest
from jsonschema import Draft202012Validator

from turnetl.base.result_schema import definitions_of
from turnetl.base.results import INLINED, described, encoded, plain

Name = NewType("Name", str)
V = TypeVar("V")


class Outcome(StrEnum):
    KEPT = "kept"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is.

    Views read more of it.
    """

    path: Annotated[Path | None, described("The file.")]
    seen_at: Annotated[datetime, described("When.")]
    secret: str = "not printed"


@dataclass(frozen=True, slots=True)
class Report(Generic[V]):
    """What was done."""

    value: Annotated[V, INLINED]
    names: Annotated[tuple[Name, ...], described("The names.", name="who")] = ()
    counts: Annotated[dict[Outcome, int], described("By outcome.", keys=Outcome)] = field(
        default_factory=dict
    )
    cost: Annotated[float | None, described("US dollars.", digits=2)] = None
    lines: Annotated[tuple[str, ...], described("Lines.", counted=True)] = ("a", "b", "c")

    @property
    def total(self) -> Annotated[int, described("All of them.")]:
        return sum(self.counts.values())

    @property
    def is_empty(self) -> bool:
        return not self.counts


PLACE = Place(Path("a/b"), datetime(2026, 3, 1, 10, tzinfo=timezone(timedelta(hours=1))))
REPORT = Report(PLACE, (Name("ada"),), {Outcome.KEPT: 2}, 1.2345)
OBJECT = {
    "path": "a/b",
    "seen_at": "2026-03-01T09:00:00+00:00",
    "who": ["ada"],
    "counts": {"kept": 2},
    "cost": 1.23,
    "lines": 3,
    "total": 2,
}


def test_the_object_has_what_is_described_and_nothing_else() -> None:
    assert plain(REPORT) == OBJECT
    assert json.loads(encoded(REPORT)) == OBJECT


def schema(kind: Any) -> dict[str, Any]:
    references, definitions = definitions_of([kind])
    return {"anyOf": references, "$defs": definitions}


def test_the_schema_describes_the_object_and_allows_no_other_key() -> None:
    validator = Draft202012Validator(schema(Report[Place]))
    validator.validate(OBJECT)
    assert not validator.is_valid({**OBJECT, "secret": "not printed"})
    assert not validator.is_valid({key: OBJECT[key] for key in OBJECT if key != "total"})
    assert not validator.is_valid({**OBJECT, "counts": {"lost": 1}})
    assert not validator.is_valid({**OBJECT, "lines": ["a", "b", "c"]})


def test_the_schema_has_the_names_and_sentences_of_the_result() -> None:
    definition = schema(Report[Place])["$defs"]["PlaceReport"]
    assert definition["description"] == "Where something is."
    assert definition["properties"]["who"]["description"] == "The names."
    assert {"format": "date-time", "type": "string"}.items() <= (
        definition["properties"]["seen_at"].items()
    )


def test_a_path_that_is_no_text_is_printed_with_escapes() -> None:
    place = Place(Path("a\udcff"), datetime(2026, 3, 1, tzinfo=UTC))
    assert plain(place)["path"] == "a\\udcff"


@pytest.mark.parametrize("value", [object(), timedelta(1), {"a": object()}])
def test_a_value_without_a_description_is_refused(value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        plain(value)


def test_the_keys_of_an_object_are_texts() -> None:
    assert plain({256: 1, Outcome.KEPT: 2}) == {"256": 1, "kept": 2}
