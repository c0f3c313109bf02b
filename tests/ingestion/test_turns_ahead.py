"""How many turns a run resolves ahead."""

import pytest

from tests.builders import START
from turnetl.pipeline.run_options import new_ingest_run
from turnetl.settings import Settings


@pytest.mark.parametrize(
    ("run_ahead", "slots", "per_minute", "turns"),
    [
        (4, 8, None, 4),
        (0, 8, None, 0),
        (8, 4, None, 3),
        (4, 1, None, 0),
        (4, 8, 600, 4),
        (4, 8, 20, 2),
        (4, 8, 1, 0),
    ],
)
def test_turns_ahead_leave_slots_and_requests_to_the_turn_that_commits(
    run_ahead: int, slots: int, per_minute: int | None, turns: int
) -> None:
    settings = Settings(run_ahead=run_ahead)
    update = {"concurrency": slots, "requests_per_minute": per_minute}
    settings = settings.model_copy(update={"llm": settings.llm.model_copy(update=update)})
    assert new_ingest_run(settings, lambda: START).run_ahead == turns
