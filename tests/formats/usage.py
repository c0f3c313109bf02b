"""The tokens of a turn, as tests compare them."""

from turnetl.formats.port import RawTurn


def tokens(turn: RawTurn) -> list[tuple[int | None, ...]]:
    """Return input, cache write, cache read, output and reasoning of each API message."""
    return [tuple(message.tokens()) for message in turn.usage.values()]
