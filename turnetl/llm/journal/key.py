"""The key of a request: a digest of the model, the parameters, the messages and the schema."""

from collections.abc import Iterator
from functools import lru_cache

from turnetl.base import ids
from turnetl.llm.chat import ChatRequest

_VERSION = "journal/1"


# A request has a key when it runs ahead, in the journal, and again when its turn is committed.
@lru_cache(maxsize=200)
def request_key(model_name: str, request: ChatRequest, parameters: str = "") -> str:
    """Return 32 hex digits: equal requests have equal keys on every machine and in every run.

    Not included: the name of the prompt, the pydantic class that validates the response, and the
    order of the keys in the schema. Providers do not receive them.

    Args:
        model_name: with its provider.
        request: everything that is sent in this request.
        parameters: sent with every request.
    """
    header = (model_name, parameters, str(request.max_tokens))
    return ids.digest(_VERSION, *header, *_content(request))


def _content(request: ChatRequest) -> Iterator[str | bytes]:
    yield request.schema.name if request.schema is not None else ""
    yield request.schema.canonical if request.schema is not None else b""
    for message in request.messages:
        yield message.role
        yield message.text
