"""`turnetl serve` from its start to its end."""

import shutil
import signal
import socket
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.cli.archives import conversation, write_archive
from tests.cli.command import run_in_process, turnetl_process
from tests.cli.provider_setup import SESSION_START
from tests.cli.test_reading_while_writing import folder as graph_of_three_turns
from tests.cli.test_reading_while_writing import writing
from tests.servers.provider import FakeProvider
from tests.web.serving_process import entered, serving_process
from turnetl.base.stop_signals import STOP_SIGNALS

__all__ = ["graph_of_three_turns"]

READY = (
    "turnetl: open the address in a browser on this machine; anyone who has it can read the pages. "
    "Ctrl-C stops the server"
)


@pytest.mark.full
@pytest.mark.parametrize("stop_signal", STOP_SIGNALS)
def test_it_answers_writes_nothing_but_the_index_and_ends_cleanly_at_a_signal(
    stop_signal: signal.Signals, shop: Path
) -> None:
    before = files(shop)
    with serving_process(folder=shop) as serving, entered(serving.url) as browser:
        for page in ("", "timeline", "fix?q=error", "turn?id=nothing"):
            browser.get(page)
        send_what_is_no_http(serving.url)
        assert "Add a cart to the shop" in browser.get("search?q=cart").text
        # The connection is still open.
        result = serving.stop(stop_signal)
    assert result.exit_code == 0
    assert result.stdout == serving.first_line
    assert result.messages == [READY]
    assert files(shop) == before


def files(folder: Path) -> dict[str, bytes]:
    """Return all files but those of the index."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "index" not in path.parts and ".cache" not in path.parts
    }


def send_what_is_no_http(url: str) -> None:
    """Send bytes that are no request, one that is too long, and one for another host."""
    place = urlsplit(url)
    assert place.hostname
    assert place.port
    for request in (b"\x16\x03\x01 not HTTP\r\n\r\n", b"GET /" + b"a" * 100_000):
        with socket.create_connection((place.hostname, place.port), timeout=30) as connection:
            connection.sendall(request)
            answer = connection.recv(1000)
        assert answer == b"" or answer.startswith(b"HTTP/1.1 400")
    headers = {"host": f"rebound.example.org:{place.port}"}
    assert httpx.get(url, headers=headers).status_code == 421


@pytest.mark.full
def test_with_json_the_address_is_in_an_object(shop: Path) -> None:
    with serving_process("--json", folder=shop) as serving:
        result = serving.stop()
        url = result.json["url"]
    assert urlsplit(url).hostname == "127.0.0.1"
    assert urlsplit(url).query.startswith("token=")


@pytest.mark.full
def test_a_port_in_use_is_named_with_what_to_do(shop: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        result = turnetl_process("serve", "--port", port, folder=shop)
    assert (result.exit_code, result.stdout) == (1, "")
    in_use = f"turnetl: port {port} of 127.0.0.1 is in use, possibly by another turnetl: "
    assert result.messages == [f"{in_use}`--port 0` picks a free port"]


def test_a_host_that_other_machines_may_reach_is_refused(
    subtests: pytest.Subtests, tmp_path: Path
) -> None:
    for host in ("0.0.0.0", "::", "192.168.1.2", "example.org", "", "127.1"):  # noqa: S104 - refused
        with subtests.test(host=host):
            result = run_in_process("serve", "--host", host, folder=tmp_path)
            assert (result.exit_code, result.stdout) == (2, "")
            assert f"other machines may reach `{host}`" in result.stderr
            assert "ssh -L" in result.stderr


def test_a_lake_that_is_named_and_does_not_exist_is_refused_as_by_search(tmp_path: Path) -> None:
    refused = [
        run_in_process(*command, "--lake", "missing", folder=tmp_path)
        for command in (("serve", "--port", "0"), ("search", "cart"))
    ]
    assert refused[0].exit_code == refused[1].exit_code == 1
    assert refused[0].messages == refused[1].messages
    assert "there is no graph at" in refused[0].messages[0]
    assert not (tmp_path / "missing").exists()


def test_a_port_that_is_none_is_refused(tmp_path: Path) -> None:
    for port in ("-1", "65536", "http"):
        result = run_in_process("serve", "--port", port, folder=tmp_path)
        assert (result.exit_code, result.stdout) == (2, ""), port
        assert "--port" in result.stderr


@pytest.mark.full
def test_an_address_of_ipv6_works(shop: Path) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no ::1")
    with serving_process("--host", "::1", folder=shop) as serving:
        assert urlsplit(serving.url).hostname == "::1"
        with entered(serving.url) as browser:
            assert browser.get("timeline").status_code == 200


@pytest.mark.full
def test_a_report_that_is_being_made_does_not_hold_up_the_end(shop: Path) -> None:
    journal = shop / ".turnetl" / "lake" / "journal.sqlite"
    with (
        closing(sqlite3.connect(journal, isolation_level=None)) as other,
        serving_process(folder=shop) as serving,
        entered(serving.url) as browser,
        ThreadPoolExecutor(1) as beside,
    ):
        # The report waits a minute for the journal, which another process locks.
        other.execute("BEGIN EXCLUSIVE")
        report = beside.submit(browser.get, "report")
        assert browser.get("timeline").status_code == 200
        assert not report.done()
        # Fails if the process has not ended after 30 seconds.
        result = serving.stop()
    assert result.exit_code == 0
    assert result.messages == [READY]


@pytest.mark.full
def test_two_servers_run_side_by_side_and_no_token_is_in_a_log(shop: Path) -> None:
    log = ("--verbose", "--debug")
    with serving_process(*log, folder=shop) as first, serving_process(*log, folder=shop) as second:
        assert first.url != second.url
        for serving in (first, second):
            token = urlsplit(serving.url).query.removeprefix("token=")
            with entered(serving.url) as browser:
                assert browser.get("search?q=confidential").status_code == 200
                browser.get("/?token=another")
            result = serving.stop()
            assert result.exit_code == 0
            assert token not in result.stderr
            assert "confidential" not in result.stderr


@pytest.mark.full
def test_without_a_graph_a_page_says_what_to_do_and_later_shows_it(tmp_path: Path) -> None:
    with serving_process(folder=tmp_path) as serving, entered(serving.url) as browser:
        missing = browser.get("")
        assert missing.status_code == 503
        assert "there is no graph at" in missing.text
        assert "run `turnetl backfill`" in missing.text
        write_archive(tmp_path / "a.jsonl", conversation("Add a cart", at=SESSION_START))
        assert turnetl_process("backfill", "a.jsonl", folder=tmp_path).exit_code == 0
        assert "Add a cart" in browser.get("").text
        assert serving.stop().exit_code == 0


@pytest.mark.full
def test_without_an_index_it_is_made(shop: Path) -> None:
    shutil.rmtree(shop / ".turnetl" / "lake" / "index")
    with serving_process(folder=shop) as serving, entered(serving.url) as browser:
        assert "Add a cart to the shop" in browser.get("timeline").text


@pytest.mark.full
def test_during_a_backfill_pages_are_answered_and_afterwards_have_its_turns(
    graph_of_three_turns: Path, provider: FakeProvider
) -> None:
    folder = graph_of_three_turns
    rows = conversation("Refund an order, please", session="s2", at=SESSION_START)
    more = write_archive(folder / "b.jsonl", rows)
    with serving_process(folder=folder) as serving, entered(serving.url) as browser:
        with writing(more, provider, folder):
            during = browser.get("timeline")
            assert during.status_code == 200
            assert "Turns 1 to 3 of 3" in during.text
        assert "Turns 1 to 4 of 4" in browser.get("timeline").text
