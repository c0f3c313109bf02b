"""What makes two requests the same: model, words, form of the answer, and how long it may be."""

from collections.abc import Iterator

from turnetl import ids
from turnetl.llm.chat import ChatRequest

_FORM = "journal/1"


def request_key(model_name: str, request: ChatRequest, parameters: str = "") -> str:
    """Return 32 hex digits: the same for the same request on every machine and in every run.

    Not part of it: the name of the prompt, the pydantic class that checks the answer, and the order
    of the keys in the schema. Providers do not see them.

    Args:
        model_name: with its provider.
        request: all that is said to the model in this call.
        parameters: what is said to the model in every call, beside the request.
    """
    said = (model_name, parameters, str(request.max_tokens))
    return ids.digest(_FORM, *said, *_asked(request))


def request_chars(request: ChatRequest) -> int:
    """Return the characters of what is said."""
    return sum(len(said.text) for said in request.messages)


def _asked(request: ChatRequest) -> Iterator[str | bytes]:
    yield request.schema.name if request.schema is not None else ""
    yield request.schema.canonical if request.schema is not None else b""
    for said in request.messages:
        yield said.role
        yield said.text
