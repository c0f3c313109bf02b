"""One request about several facts of a turn, and the response to each of them.

Graphiti asks about each fact by itself. Its instructions are four fifths of such a request. Here
they are sent once for several facts, and each fact keeps its own lists of candidates.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pydantic import BaseModel, Field

from turnetl.llm import validate
from turnetl.llm.chat import ChatMessage, ChatRequest, response_schema

SINGLE_PROMPT = "dedupe_edges.resolve_edge"
PROMPT = "dedupe_edges.resolve_edges"
PER_REQUEST = 8
"""Facts of a request."""
MAX_REQUEST_CHARS = 24_000
"""Of the facts of a request with their candidates; a single fact may have more."""
_ID_STEP = 11
"""Ids of questions are multiples of it: neither a count from 0 or 1 nor an id that is one too high
is the id of another question, so that an answer belongs to the fact that it is about."""
_QUESTION = re.compile(r'^<QUESTION id="(\d+)">$', re.MULTILINE)
_TASK = """
# SEVERAL NEW FACTS

There are one or more questions, each with its own NEW FACT, EXISTING FACTS and FACT INVALIDATION
CANDIDATES. Answer each question by itself with the rules above, as if it were the only one: the
facts of another question are no candidates, and idx values are those of the lists of the question.
Return exactly one entry per question, with its id, also if both of its lists are empty.
"""


# The docstrings and the descriptions are part of the schema that is sent.
class FactResolution(BaseModel):
    """The answer to one question."""

    id: int = Field(description="The id of the question.")
    duplicate_facts: list[int] = Field(
        description="idx values of EXISTING FACTS that the NEW FACT repeats; empty if none."
    )
    contradicted_facts: list[int] = Field(
        description="idx values of either list that the NEW FACT contradicts; empty if none."
    )


class FactResolutions(BaseModel):
    """The answers to all questions."""

    fact_resolutions: list[FactResolution]


def in_requests(requests: Sequence[ChatRequest]) -> Iterator[slice]:
    """Yield the slices of requests about single facts that one request combines, in order."""
    start = chars = 0
    for index, request in enumerate(requests):
        size = len(request.messages[-1].text)
        if index > start and (index - start == PER_REQUEST or chars + size > MAX_REQUEST_CHARS):
            yield slice(start, index)
            start, chars = index, 0
        chars += size
    if requests:
        yield slice(start, len(requests))


def combined(requests: Sequence[ChatRequest]) -> ChatRequest:
    """Return one request for all; the instructions of the first one are those of each."""
    *instructions, last = requests[0].messages[:-1]
    questions = (
        f'<QUESTION id="{number}">\n{request.messages[-1].text}\n</QUESTION>'
        for number, request in zip(question_ids(len(requests)), requests, strict=True)
    )
    return replace(
        requests[0],
        prompt_name=PROMPT,
        messages=(
            *instructions,
            ChatMessage(last.role, f"{last.text}\n{_TASK}"),
            ChatMessage(requests[0].messages[-1].role, "\n\n".join(questions)),
        ),
        schema=response_schema(FactResolutions),
    )


def question_ids(count: int) -> Sequence[int]:
    """Return the ids of that many questions, in order."""
    return range(_ID_STEP, _ID_STEP * count + 1, _ID_STEP)


def numbers(request: ChatRequest) -> Sequence[int]:
    """Return the ids of the questions of a request for several facts, in order."""
    # The delimiters occur nowhere else: texts are escaped.
    return [int(found) for found in _QUESTION.findall(request.messages[-1].text)]


def no_other_fact(request: ChatRequest) -> str:
    """Return the response that no fact of the request repeats or contradicts another one."""
    answers = [
        FactResolution(id=number, duplicate_facts=[], contradicted_facts=[])
        for number in numbers(request)
    ]
    return FactResolutions(fact_resolutions=answers).model_dump_json()


def responses(text: str, count: int) -> Mapping[int, str]:
    """Return the response about each fact as Graphiti reads it, by the fact's number from 0.

    Unanswered questions are missing. All are, if one of the ids is not that of a question, or if
    two answers have one id: an answer then belongs to no certain fact. Of a single question the
    first answer counts, whatever its id.

    Raises:
        ValueError: the text does not match the schema.
    """
    answers = FactResolutions.model_validate(validate.parse_object(text)).fact_resolutions
    if count == 1:
        return dict(enumerate(map(_as_graphiti_reads, answers[:1])))
    facts = {number: fact for fact, number in enumerate(question_ids(count))}
    found: dict[int, str] = {}
    for one in answers:
        response = _as_graphiti_reads(one)
        if one.id not in facts or found.setdefault(facts[one.id], response) != response:
            return {}
    return found


def _as_graphiti_reads(resolution: FactResolution) -> str:
    return resolution.model_dump_json(exclude={"id"})
