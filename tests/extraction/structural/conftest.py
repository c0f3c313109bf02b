from collections.abc import Callable
from typing import Any

import pytest

from tests.extraction.structural.shop_group import ShopGroup


@pytest.fixture
def shop() -> ShopGroup:
    return ShopGroup()


@pytest.fixture
def read() -> Callable[..., Any]:
    """Return a function that extracts one turn into a new group and returns the group."""

    async def ingest_turn(**fields: Any) -> ShopGroup:
        shop = ShopGroup()
        await shop.ingest(**fields)
        return shop

    return ingest_turn
