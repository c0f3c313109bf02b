"""The request of `turnetl model check` for the prompt that refreshes summaries."""

from turnetl.base.model import Entity, Fact, GroupId
from turnetl.llm.checks.check import SAMPLE_FACT, SAMPLE_NAMES, SAMPLE_TIME, CheckRequest, check_of
from turnetl.summaries.model_summariser import RefreshedSummaries, refresh_request
from turnetl.summaries.port import SummaryInput

_GROUP = GroupId("check")


def refresh_check() -> CheckRequest:
    """Return the request that refreshes the summary of one entity with one new fact."""

    def find_problem(response: RefreshedSummaries) -> str:
        if not response.entity_summaries:
            return f"returns no summary of `{SAMPLE_NAMES[0]}`"
        if any(one.number != 1 for one in response.entity_summaries):
            return "summarises entities that the prompt does not contain"
        is_complete = all(one.summary.strip() for one in response.entity_summaries)
        return "" if is_complete else "returns an empty summary"

    return check_of(refresh_request([_sample()]), RefreshedSummaries, find_problem)


def _sample() -> SummaryInput:
    file, store = SAMPLE_NAMES
    fact = Fact(
        uuid="uses",
        group_id=_GROUP,
        source=file,
        target=store,
        relation="USES",
        text=SAMPLE_FACT,
        turns=(),
        created_at=SAMPLE_TIME,
        valid_at=SAMPLE_TIME,
    )
    entity = Entity(file, _GROUP, file, ("File",), "", SAMPLE_TIME)
    return SummaryInput(entity, f"{file} keeps orders.", (fact,), frozenset({fact.uuid}), ())
