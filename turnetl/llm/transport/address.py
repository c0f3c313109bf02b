"""Where a provider is and how it knows who asks: what a person gave, as it may be sent."""

from base64 import b64encode

import httpx

from turnetl.errors import BadUsage


def split_credentials(url: str, settings: str) -> tuple[str, dict[str, str]]:
    """Return the URL without user and password, and the header that says these.

    What is asked is logged by the library beneath, with its whole URL.

    Args:
        url: may hold `user:password@`.
        settings: the beginning of the environment's names for it.

    Raises:
        BadUsage: it is no URL. Does not say it: a password may be in it.
    """
    wrong = BadUsage(f"{settings}__BASE_URL is no URL that can be asked; set it again")
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        raise wrong from None
    if parsed.scheme not in ("http", "https") or not parsed.host or " " in url:
        raise wrong
    if not parsed.userinfo:
        return url, {}
    login = f"{parsed.username}:{parsed.password}".encode()
    header = {"Authorization": f"Basic {b64encode(login).decode()}"}
    return str(parsed.copy_with(userinfo=b"")), header


def check_key(key: str | None, settings: str) -> None:
    """See that a header can carry the key.

    Raises:
        BadUsage: it cannot. Does not say the key.
    """
    if key is not None and not (key.isascii() and key.isprintable() and " " not in key):
        raise BadUsage(
            f"{settings}__API_KEY holds a space, a line break or another sign that no key has; "
            "set it again"
        )
