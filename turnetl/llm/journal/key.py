"""What makes two questions the same: model, words, form of the answer, and how long it may be."""

from collections.abc import Iterator

from turnetl import ids
from turnetl.llm.chat import ChatRequest

_FORM = "journal/1"


def key_of(model_name: str, question: ChatRequest, parameters: str = "") -> str:
    """Return 32 hex digits: the same for the same question on every machine and in every run.

    Not part of it: the name of the prompt, the pydantic class that checks the answer, and the order
    of the keys in the schema. Providers do not see them.

    Args:
        model_name: with its provider.
        question: all that is said to the model in this call.
        parameters: what is said to the model in every call, beside the question.
    """
    said = (model_name, parameters, str(question.max_tokens))
    return ids.digest(_FORM, *said, *_asked(question))


def size_of(question: ChatRequest) -> int:
    """Return the characters of what is said."""
    return sum(len(said.text) for said in question.messages)


def _asked(question: ChatRequest) -> Iterator[str | bytes]:
    yield question.schema.name if question.schema is not None else ""
    yield question.schema.canonical if question.schema is not None else b""
    for said in question.messages:
        yield said.role
        yield said.text
