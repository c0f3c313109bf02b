"""Every reason has a sentence, and is a plain string in tables and JSON."""

import json

import pytest

from turnetl.ingestion.reasons import PendingReason, StaleReason

REASONS = [*PendingReason, *StaleReason]


@pytest.mark.parametrize("reason", REASONS)
def test_a_reason_has_a_sentence(reason: PendingReason | StaleReason) -> None:
    assert reason.sentence[0].isupper()
    assert reason.sentence.endswith(".")


def test_no_two_reasons_have_one_sentence() -> None:
    assert len({reason.sentence for reason in REASONS}) == len(REASONS)


def test_a_reason_is_its_value_in_text_and_json() -> None:
    assert json.dumps({PendingReason.NO_TIME: 1}) == '{"no_time": 1}'
    assert f"{StaleReason.RECIPE_CHANGED}" == "recipe_changed"
    assert str(PendingReason.READY) == "ready"
