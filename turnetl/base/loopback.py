"""Whether a host is this machine: what is sent there passes no network."""

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Return whether a host of a URL is this machine. Only the name `localhost` is, everywhere."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
