"""A browser without JavaScript that visits the pages, in this process and without a network."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import httpx

import turnetl
from tests.html.html_parsing import ParsedPage
from turnetl.pipeline.index_reader import open_index_reader
from turnetl.web.access import AccessKeys
from turnetl.web.serving import application

NOW = datetime(2026, 6, 15, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Visitor:
    """A client of one application."""

    client: httpx.AsyncClient
    keys: AccessKeys

    async def enter(self) -> httpx.Response:
        """Open the printed address: the client keeps the cookie."""
        return await self.client.get(self.keys.entry, follow_redirects=True)

    async def get(self, page: str, /, **parameters: str | list[str]) -> httpx.Response:
        """Return the response of a page, by the address that links have."""
        return await self.client.get(self.keys.start_page + page, params=parameters or None)

    async def page(
        self, page: str, status: int = 200, /, **parameters: str | list[str]
    ) -> ParsedPage:
        """Return a page as a browser would read it."""
        response = await self.get(page, **parameters)
        assert response.status_code == status, response.text
        return ParsedPage(response.text)


@asynccontextmanager
async def visiting(
    settings: turnetl.Settings, *, entered: bool = True, now: datetime = NOW
) -> AsyncIterator[Visitor]:
    """Serve the pages of a lake to a visitor."""
    keys = AccessKeys.new()
    async with open_index_reader(settings, lambda: now) as reader:
        app = application(reader, lambda: now, keys, directory=Path("/"))
        transport = httpx.ASGITransport(app)
        base = "http://127.0.0.1:8420"
        async with httpx.AsyncClient(transport=transport, base_url=base) as client:
            visitor = Visitor(client, keys)
            if entered:
                assert (await visitor.enter()).status_code == 200
            yield visitor


def links(page: ParsedPage) -> dict[str, str]:
    """Return the address of each link of a page, by its text."""
    found: dict[str, str] = {}
    for href, text in page.links:
        found.setdefault(" ".join(text.split()), href)
    return found
