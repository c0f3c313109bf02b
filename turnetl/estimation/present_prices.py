"""What earlier requests would cost now: prices change, and may have been unknown then."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from turnetl.base.model import Usage
from turnetl.estimation.observed_requests import ObservedRequest
from turnetl.estimation.pilot import TurnRequests
from turnetl.estimation.usage_range import scaled
from turnetl.llm.prices import Price


def at_price(usage: Usage, price: Price | None) -> Usage:
    """Return the usage of requests of one model with the cost at this price.

    Args:
        usage: of any number of requests, which count as equally long.
        price: of now; None if it is unknown, and so is the cost.
    """
    if not usage.calls:
        return usage
    if price is None:
        return replace(usage, cost=None)
    # A tier is chosen by the prompt of one request.
    one = scaled(usage, 1 / usage.calls)
    return replace(usage, cost=price.cost(one) * usage.calls)


def at_prices(
    turns: Iterable[TurnRequests], price: Callable[[str], Price | None]
) -> list[TurnRequests]:
    """Return the turns with the costs of their requests at the prices of now.

    Args:
        turns: in any order.
        price: returns the price of the model of a prompt.
    """

    def priced(requests: Iterable[ObservedRequest]) -> tuple[ObservedRequest, ...]:
        return tuple(
            one if one.usage is None else replace(one, usage=at_price(one.usage, price(one.prompt)))
            for one in requests
        )

    return [
        replace(turn, extraction=priced(turn.extraction), resolution=priced(turn.resolution))
        for turn in turns
    ]
