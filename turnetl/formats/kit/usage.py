"""Token counts in the forms in which several formats record them."""

from typing import Annotated

import msgspec

_TokenCount = Annotated[int, msgspec.Meta(ge=0, lt=2**40)]


class TokenUsage(msgspec.Struct, gc=False):
    input_tokens: _TokenCount | None = None
    output_tokens: _TokenCount | None = None


class TokenPair(msgspec.Struct, gc=False):
    """The same counts under shorter keys."""

    input: _TokenCount | None = None
    output: _TokenCount | None = None
