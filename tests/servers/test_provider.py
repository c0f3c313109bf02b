"""The fake provider is silent about clients that were killed, and about nothing else."""

import socket
import struct
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.servers.provider import FakeProvider, serving

REQUEST = b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s"


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    with serving() as provider:
        yield provider


def sent(provider: FakeProvider, data: bytes, *, resets: bool) -> bytes:
    """Send data and end the connection as a killed process does; return the response."""
    address = urlsplit(provider.url)
    with socket.create_connection((address.hostname, address.port)) as client:
        client.sendall(data)
        if resets:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            client.shutdown(socket.SHUT_WR)
            client.settimeout(10)
            return client.recv(1000)
    return b""


@pytest.mark.parametrize("data", [b"POST /v1/ch", REQUEST % (100, b'{"messa')])
@pytest.mark.parametrize("resets", [False, True])
def test_a_client_that_is_killed_while_it_sends_is_no_error(
    provider: FakeProvider, capfd: pytest.CaptureFixture[str], data: bytes, *, resets: bool
) -> None:
    sent(provider, data, resets=resets)
    time.sleep(0.1)
    assert not provider.requests
    assert capfd.readouterr().err == ""


def test_a_request_that_cannot_be_read_is_an_error(
    provider: FakeProvider, capfd: pytest.CaptureFixture[str]
) -> None:
    sent(provider, REQUEST % (3, b"{]}"), resets=False)
    assert "JSONDecodeError" in capfd.readouterr().err
