"""Every reason has a sentence, and is a plain string in tables and JSON."""

import json
import re

import pytest

from docs.generate.json_objects import reference
from turnetl.base.reason import Reason, SkipReason
from turnetl.extraction.port import DiscardReason
from turnetl.extraction.stoplist import CHECKS
from turnetl.ingestion.reasons import PendingReason, StaleReason
from turnetl.summaries.reasons import GateReason

ENUMS = (PendingReason, StaleReason, SkipReason, DiscardReason, GateReason)
REASONS: list[Reason] = [reason for enum in ENUMS for reason in enum]


def test_all_enums_of_reasons_are_checked_here() -> None:
    assert set(Reason.__subclasses__()) == set(ENUMS)


def test_a_reason_has_a_sentence(subtests: pytest.Subtests) -> None:
    for reason in REASONS:
        with subtests.test(reason=reason):
            assert reason.sentence[0].isupper() or reason.sentence.startswith("turnetl ")
            assert reason.sentence.endswith(".")
            assert re.fullmatch(r"[a-z]+(?:_[a-z]+)*", reason.value)
            assert reason.name == reason.value.upper()


@pytest.mark.parametrize("enum", ENUMS)
def test_no_two_reasons_have_one_sentence(enum: type[Reason]) -> None:
    assert len({reason.sentence for reason in enum}) == len(enum)


def test_a_reason_is_its_value_in_text_and_json() -> None:
    assert json.dumps({PendingReason.NO_TIME: 1}) == '{"no_time": 1}'
    assert f"{StaleReason.RECIPE_CHANGED}" == "recipe_changed"
    assert str(PendingReason.READY) == "ready"


def test_an_unknown_reason_is_rejected() -> None:
    with pytest.raises(ValueError, match="'because' is not a valid SkipReason"):
        SkipReason("because")


@pytest.mark.full
@pytest.mark.parametrize("reason", REASONS)
def test_the_reference_of_json_explains_every_reason(reason: Reason) -> None:
    section = reference().partition(f"### {type(reason).__name__}\n")[2].partition("\n### ")[0]
    assert f"| `{reason}` | {reason.sentence} |" in section


def test_the_stoplist_checks_names_for_every_reason_to_discard_one() -> None:
    others = {DiscardReason.FACTS, DiscardReason.QUOTE, DiscardReason.KNOWN, DiscardReason.COPIED}
    assert set(CHECKS) == set(DiscardReason) - others
