"""A real S3 server (moto) in a process of its own, with buckets in its memory."""

import http.client
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from tests.servers.free_port import free_port

if TYPE_CHECKING:  # as below
    from obstore.store import S3Store

_START_SECONDS = 60


@dataclass(frozen=True)
class S3Server:
    """A running server."""

    port: int

    @property
    def environment(self) -> dict[str, str]:
        """The environment in which the provider's own chain finds the server."""
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "us-east-1",
        }

    def new_bucket(self) -> str:
        """Create a bucket and return its name."""
        name = f"bucket-{uuid4().hex}"
        self.request("PUT", f"/{name}")
        return name

    def objects(self, bucket: str) -> "S3Store":
        """Return the objects of a bucket, without what turnetl does to them."""
        from obstore.store import S3Store  # noqa: PLC0415 - tests/conftest.py imports this module

        return S3Store(
            bucket,
            endpoint=f"http://127.0.0.1:{self.port}",
            access_key_id="test",
            secret_access_key="test",
            region="us-east-1",
            client_options={"allow_http": True},
        )

    def tables(self, bucket: str, prefix: str) -> dict[str, bytes]:
        """Return the tables below a prefix, by name."""
        objects = self.objects(bucket)
        found = [one["path"] for page in objects.list(prefix) for one in page]
        names = [name for name in found if name.endswith(".parquet")]
        return {name.removeprefix(f"{prefix}/"): bytes(objects.get(name).bytes()) for name in names}

    def request(self, method: str, path: str, body: bytes = b"") -> bytes:
        """Send a request without a signature."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        try:
            connection.request(method, path, body)
            response = connection.getresponse()
            content = response.read()
            assert response.status < 300, (response.status, content)
            return content
        finally:
            connection.close()

    def allow_reads_only(self, bucket: str) -> None:
        """Refuse to write and delete objects of a bucket."""
        self.refuse(["s3:PutObject", "s3:DeleteObject"], f"{bucket}/*")

    def refuse(self, actions: Sequence[str], resource: str) -> None:
        """Refuse actions on a bucket, on an object, or on all objects that match."""
        bucket = resource.partition("/")[0]
        denied = {
            "Effect": "Deny",
            "Principal": "*",
            "Action": list(actions),
            "Resource": f"arn:aws:s3:::{resource}",
        }
        policy = {"Version": "2012-10-17", "Statement": [denied]}
        self.request("PUT", f"/{bucket}?policy", json.dumps(policy).encode())

    def refuse_everything(self) -> None:
        """Refuse every further request, as for a user without rights."""
        self.request("POST", "/moto-api/reset-auth", b"0")

    def accept_everything(self) -> None:
        self.request("POST", "/moto-api/reset-auth", b"inf")


@contextmanager
def running() -> Iterator[S3Server]:
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait(process, port)
        yield S3Server(port)
    finally:
        process.terminate()
        process.wait()


def _wait(process: "subprocess.Popen[bytes]", port: int) -> None:
    for _ in range(_START_SECONDS * 20):
        assert process.poll() is None, "the S3 server ended"
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise TimeoutError("the S3 server does not respond")
