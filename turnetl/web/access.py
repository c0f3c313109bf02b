"""Who may read the pages, and what a page may load and run.

The printed address holds a token. It is exchanged for a cookie, so that it is neither in the
address of a page nor in what a browser sends elsewhere. A browser sends a cookie to every port of a
host, but only below its path: that of this one has a part that no other program knows, so that
another server of this machine never receives it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from hmac import compare_digest
from http import HTTPStatus
from ipaddress import ip_address
from secrets import token_urlsafe
from urllib.parse import parse_qsl

from jinja2 import PackageLoader

from turnetl.base.object_url import is_loopback
from turnetl.html.pages import content_security_policy

MAX_QUERY = 8_192
"""Bytes of the part of an address after the question mark."""
STATIC_PATH = "/static/"
"""The style sheet and the script: they are the same for everyone, and need no token."""
_COOKIE = "turnetl"
_PARAMETER = "token"
_MAX_FIELDS = 200
_TOKEN_BYTES = 32
_FOLDER_BYTES = 9


@dataclass(frozen=True, slots=True)
class AccessKeys:
    """What lets a browser in; new at each start."""

    token: str
    """In the address that the command prints."""
    cookie: str
    """Value of the cookie for which the token is exchanged."""
    folder: str
    """First part of the path of every page."""

    @classmethod
    def new(cls) -> "AccessKeys":
        return cls(
            token=token_urlsafe(_TOKEN_BYTES),
            cookie=token_urlsafe(_TOKEN_BYTES),
            folder=token_urlsafe(_FOLDER_BYTES),
        )

    @property
    def entry(self) -> str:
        return f"/?{_PARAMETER}={self.token}"

    @property
    def start_page(self) -> str:
        return f"/{self.folder}/"

    @property
    def set_cookie(self) -> str:
        return f"{_COOKIE}={self.cookie}; Path={self.start_page}; HttpOnly; SameSite=Strict"


@dataclass(frozen=True, slots=True)
class RequestHead:
    """What the decision depends on."""

    method: str
    path: str
    """Decoded, as the routes see it."""
    query: bytes
    hosts: Sequence[str]
    cookies: Sequence[str]


class GrantedAccess(StrEnum):
    """A request that is let in."""

    PAGE = "page"
    ENTRY = "entry"
    """It has the token: the response sets the cookie and leads to the first page."""


class Refusal(StrEnum):
    """Why a request is not let in."""

    HOST = "host"
    METHOD = "method"
    TOO_LONG = "too long"
    WRONG_TOKEN = "wrong token"  # noqa: S105 - a reason
    NO_COOKIE = "no cookie"

    @property
    def status(self) -> HTTPStatus:
        return _STATUSES[self]


_STATUSES = {
    Refusal.HOST: HTTPStatus.MISDIRECTED_REQUEST,
    Refusal.METHOD: HTTPStatus.METHOD_NOT_ALLOWED,
    Refusal.TOO_LONG: HTTPStatus.REQUEST_URI_TOO_LONG,
    Refusal.WRONG_TOKEN: HTTPStatus.FORBIDDEN,
    Refusal.NO_COOKIE: HTTPStatus.FORBIDDEN,
}


def decide(request: RequestHead, keys: AccessKeys) -> GrantedAccess | Refusal:
    """Return whether a request is let in, and as what.

    A web page can make a browser send requests here, also under a name of its own that leads to
    this machine (DNS rebinding): the host is checked before everything else.
    """
    if not _is_this_machine(request.hosts):
        return Refusal.HOST
    if request.method != "GET":
        return Refusal.METHOD
    if len(request.query) > MAX_QUERY:
        return Refusal.TOO_LONG
    if request.path.startswith(STATIC_PATH):
        return GrantedAccess.PAGE
    tokens = _tokens(request.query) if request.path == "/" else []
    if tokens:
        is_right = len(tokens) == 1 and _same(tokens[0], keys.token)
        return GrantedAccess.ENTRY if is_right else Refusal.WRONG_TOKEN
    cookies = [value for header in request.cookies for value in _cookie_values(header)]
    is_known = any(_same(value, keys.cookie) for value in cookies)
    is_inside = request.path.startswith(keys.start_page)
    return GrantedAccess.PAGE if is_known and is_inside else Refusal.NO_COOKIE


def _is_this_machine(hosts: Sequence[str]) -> bool:
    """Return whether there is one host, and it is this machine; ports may be forwarded."""
    if len(hosts) != 1:
        return False
    host, has_port, port = hosts[0].rpartition(":")
    if not has_port or hosts[0].endswith("]"):
        host, port = hosts[0], "0"
    if not (port.isascii() and port.isdigit()):
        return False
    if not host.startswith("["):
        return ":" not in host and is_loopback(host)
    return host.endswith("]") and _is_ipv6_loopback(host[1:-1])


def _is_ipv6_loopback(host: str) -> bool:
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return address.version == 6 and address.is_loopback  # noqa: PLR2004 - the protocol's number


def _tokens(query: bytes) -> list[str]:
    try:
        text = query.decode("latin-1")
        fields = parse_qsl(text, keep_blank_values=True, max_num_fields=_MAX_FIELDS)
    except ValueError:  # more fields
        return [""]
    return [value for name, value in fields if name == _PARAMETER]


def _cookie_values(header: str) -> list[str]:
    """Return the values of our cookie: a header may have several, and those of other programs."""
    pairs = (part.strip().partition("=") for part in header.split(";"))
    return [value for name, _, value in pairs if name == _COOKIE]


def _same(given: str, expected: str) -> bool:
    """Compare in a time that does not depend on where the texts differ."""
    return compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode())


DIRECTIVES = {
    "script-src": "'self'",
    # The script reads pages of this server when a filter changes.
    "connect-src": "'self'",
    "form-action": "'self'",
}
"""Beside those of every page of `turnetl.html`."""

HEADERS = {
    # Browsers ignore `frame-ancestors` in a page.
    "Content-Security-Policy": f"{content_security_policy(DIRECTIVES)}; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Of every response. No header lets another origin read anything (CORS)."""

LOADER = PackageLoader("turnetl.web")
