"""Responses to turnetl's request about several facts: those to Graphiti's request about each."""

import re
from typing import Any

from tests.servers.canned_responses import Json, Responders

FIELD = "fact_resolutions"
"""The field that only this response has."""
_QUESTION = re.compile(r'<QUESTION id="(\d+)">\n(.*?)\n</QUESTION>', re.DOTALL)


def with_fact_questions(responders: Responders) -> Responders:
    """Return the responders and one that answers each question as the request for one fact."""
    if "duplicate_facts" not in responders:
        return responders
    respond = responders["duplicate_facts"]

    def respond_to_all(prompt: str) -> Json:
        answers: list[dict[str, Any]] = [
            {"id": int(number), **respond(question)} for number, question in questions(prompt)
        ]
        return {FIELD: answers}

    return {**responders, FIELD: respond_to_all}


def questions(prompt: str) -> list[tuple[str, str]]:
    """Return id and text of each question."""
    return [(match[1], match[2]) for match in _QUESTION.finditer(prompt)]
