"""Serve the pages: socket, keys, index and application, until the process is stopped."""

from collections.abc import Callable, MutableMapping
from contextlib import closing
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnetl.base import local_server
from turnetl.base.clock import Clock
from turnetl.base.local_server import admit
from turnetl.html.pages import environment
from turnetl.pipeline.index_reader import IndexReader, open_index_reader
from turnetl.settings import Settings
from turnetl.web.access import (
    HEADERS,
    LOADER,
    AccessKeys,
    GrantedAccess,
    Refusal,
    RequestHead,
    decide,
)
from turnetl.web.answers import PageAnswers
from turnetl.web.live_report import LiveReports
from turnetl.web.pages import Pages


async def serve(
    settings: Settings,
    clock: Clock,
    *,
    host: str,
    port: int,
    directory: Path,
    on_ready: Callable[[str], object],
) -> None:
    """Answer requests of browsers of this machine until this is cancelled.

    Graph and index may be missing, and appear later: a page says so. Writes nothing but the search
    index, which is brought up to date with the graph beside the requests. `on_ready` is called with
    the address that lets a browser in, when connections are accepted.
    """
    with closing(local_server.listen(host, port)) as listening:
        keys = AccessKeys.new()
        async with open_index_reader(settings, clock) as reader:
            app = application(reader, clock, keys, directory=directory)
            on_ready(local_server.address(listening) + keys.entry)
            await local_server.answer(app, listening)


_PACKAGE = "turnetl.web"


def application(reader: IndexReader, clock: Clock, keys: AccessKeys, *, directory: Path) -> ASGIApp:
    answers = PageAnswers(reader, clock, directory)
    reports = LiveReports(reader.settings, clock)
    pages = Pages(answers, reports, environment([LOADER]))
    routes = [Route(f"/{page}", handler) for page, handler in pages.handlers().items()]
    static = StaticFiles(packages=[(_PACKAGE, "static")], follow_symlink=False)
    inner = Starlette(
        routes=[Mount("/static", static), Mount(f"/{keys.folder}", routes=routes)],
        exception_handlers={404: pages.missing},
    )
    return Gate(inner, keys, pages.refusal)


class Gate:
    """Lets requests in that `access.decide` admits, and adds the headers to all responses."""

    def __init__(
        self, inner: ASGIApp, keys: AccessKeys, refuse: Callable[[Refusal], Response]
    ) -> None:
        self._inner = inner
        self._keys = keys
        self._refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        respond = self._inner if scope["type"] != "http" else self._admitted(scope)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        await respond(scope, receive, send_with_headers)

    def _admitted(self, scope: MutableMapping[str, Any]) -> ASGIApp:
        match decide(_head(scope), self._keys):
            case Refusal() as refusal:
                response = self._refuse(refusal)
                if refusal is Refusal.METHOD:
                    response.headers["Allow"] = "GET"
                return response
            case GrantedAccess.ENTRY:
                admit(scope)
                response = RedirectResponse(self._keys.start_page, status_code=303)
                response.headers["Set-Cookie"] = self._keys.set_cookie
                return response
            case GrantedAccess.PAGE:
                admit(scope)
                return self._inner


def _head(scope: Scope) -> RequestHead:
    headers = Headers(scope=scope)
    return RequestHead(
        method=scope["method"],
        path=scope["path"],
        query=scope["query_string"],
        hosts=headers.getlist("host"),
        cookies=headers.getlist("cookie"),
    )
