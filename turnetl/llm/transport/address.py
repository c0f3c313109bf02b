"""Base URL and API key from the settings, in the form in which they may be sent."""

from base64 import b64encode

import httpx

from turnetl.base.errors import BadUsage


def split_credentials(url: str, env_prefix: str) -> tuple[str, dict[str, str]]:
    """Return the URL without user and password, and the header that carries them.

    The HTTP library logs the complete URL of each request.

    Args:
        url: may contain `user:password@`.
        env_prefix: prefix of the environment variables, for messages.

    Raises:
        BadUsage: the URL is invalid. The message omits it: it may contain a password.
    """
    invalid = BadUsage(f"{env_prefix}__BASE_URL is not a valid URL; set it again")
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        raise invalid from None
    if parsed.scheme not in ("http", "https") or not parsed.host or " " in url:
        raise invalid
    if not parsed.userinfo:
        return url, {}
    login = f"{parsed.username}:{parsed.password}".encode()
    header = {"Authorization": f"Basic {b64encode(login).decode()}"}
    return str(parsed.copy_with(userinfo=b"")), header


def check_key(key: str | None, env_prefix: str) -> None:
    """Check that an HTTP header can carry the key.

    Raises:
        BadUsage: it cannot. The message omits the key.
    """
    if key is not None and not (key.isascii() and key.isprintable() and " " not in key):
        raise BadUsage(
            f"{env_prefix}__API_KEY contains a space, a line break or another character that no "
            "key has; set it again"
        )
