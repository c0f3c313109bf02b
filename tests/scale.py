"""How much of a test's input is generated: a quarter by `make test`, all by `make test-full`."""

from hypothesis import settings

FULL = "full"
"""The hypothesis profile of `make test-full`."""


def scaled(amount: int) -> int:
    """Return the amount in a full run, else a quarter of it."""
    return amount if settings.get_current_profile_name() == FULL else amount // 4
