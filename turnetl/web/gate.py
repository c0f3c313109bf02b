"""The door of the application: every request passes it, and every response gets its headers."""

from collections.abc import Callable, MutableMapping
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnetl.base.local_server import admit
from turnetl.web.access import AccessKeys, GrantedAccess, Refusal, RequestHead, decide
from turnetl.web.policy import HEADERS


class Gate:
    """Lets requests in that `access.decide` admits, and adds the headers to all responses."""

    def __init__(
        self, inner: ASGIApp, keys: AccessKeys, refuse: Callable[[Refusal], Response]
    ) -> None:
        """Guard an application.

        Args:
            inner: the application.
            keys: of this start.
            refuse: returns the page that says why a request is not let in.
        """
        self._inner = inner
        self._keys = keys
        self._refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
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
