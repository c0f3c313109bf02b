"""Who may read the pages: only a browser on this machine that has opened the printed address."""

from dataclasses import replace
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from turnetl.web.access import MAX_QUERY, AccessKeys, GrantedAccess, Refusal, RequestHead, decide

KEYS = AccessKeys(token="right-token", cookie="right-cookie", folder="folder")
COOKIE = "turnetl=right-cookie"
INSIDE = RequestHead("GET", "/folder/turn", b"id=1", ["127.0.0.1:8420"], [COOKIE])
OUTSIDE = RequestHead("GET", "/", b"token=right-token", ["127.0.0.1:8420"], [])

LOCAL = [
    "127.0.0.1", "127.0.0.1:1", "127.8.9.10:80", "localhost", "LOCALHOST:65535", "[::1]",
    "[::1]:8420",
]  # fmt: skip
FOREIGN = [
    "example.org", "example.org:8420", "127.0.0.1.example.org", "localhost.example.org",
    "localhost.", "10.0.0.1:8420", "0.0.0.0:8420", "[::]:8420", "[fe80::1]:8420", "::1", "[::1",
    "[127.0.0.1]", "[localhost]", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:8420:8420",
    "user@127.0.0.1", "2130706433", "0x7f000001", "127.1", "", ":8420", "127.0.0.1:²",
    "127.0.0.1,example.org",
]  # fmt: skip
METHODS = ["HEAD", "POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "get", ""]
PATHS_OUTSIDE = ["/", "/turn", "/folder", "/folderx/turn", "/other/folder/", "//folder/"]


@pytest.mark.parametrize("host", LOCAL)
def test_a_request_to_this_machine_with_the_cookie_is_let_in(host: str) -> None:
    assert decide(replace(INSIDE, hosts=[host]), KEYS) is GrantedAccess.PAGE


def test_a_name_that_is_not_of_this_machine_is_refused_even_with_the_cookie(
    subtests: pytest.Subtests,
) -> None:
    for host in FOREIGN:
        with subtests.test(host=host):
            """A page of another site may have given its name the address of this machine."""
            assert decide(replace(INSIDE, hosts=[host]), KEYS) is Refusal.HOST
            assert decide(replace(OUTSIDE, hosts=[host]), KEYS) is Refusal.HOST


@pytest.mark.parametrize("hosts", [[], ["127.0.0.1", "example.org"], ["127.0.0.1", "127.0.0.1"]])
def test_a_request_without_exactly_one_host_is_refused(hosts: list[str]) -> None:
    assert decide(replace(INSIDE, hosts=hosts), KEYS) is Refusal.HOST


@pytest.mark.parametrize("method", METHODS)
def test_every_method_but_get_is_refused(method: str) -> None:
    assert decide(replace(INSIDE, method=method), KEYS) is Refusal.METHOD
    assert decide(replace(OUTSIDE, method=method), KEYS) is Refusal.METHOD


def test_the_token_is_exchanged_once_it_is_right_and_alone() -> None:
    assert decide(OUTSIDE, KEYS) is GrantedAccess.ENTRY
    for query in (b"token=", b"token=wrong", b"token=right-tokenx", b"token=right-token&token=x"):
        assert decide(replace(OUTSIDE, query=query), KEYS) is Refusal.WRONG_TOKEN
    assert decide(replace(OUTSIDE, query=b"x=1&" * 300 + b"token=1"), KEYS) is Refusal.WRONG_TOKEN


def test_a_wrong_token_is_refused_even_with_the_cookie() -> None:
    assert decide(replace(OUTSIDE, query=b"token=x", cookies=[COOKIE]), KEYS) is Refusal.WRONG_TOKEN


@pytest.mark.parametrize("path", PATHS_OUTSIDE)
def test_nothing_outside_of_the_folder_is_read(path: str) -> None:
    assert decide(replace(INSIDE, path=path), KEYS) is Refusal.NO_COOKIE


def test_a_token_in_the_address_of_a_page_lets_nobody_in() -> None:
    request = replace(INSIDE, query=b"token=right-token", cookies=[])
    assert decide(request, KEYS) is Refusal.NO_COOKIE


@pytest.mark.parametrize(
    "cookies",
    [
        ["turnetl=right-cookie"],
        ["other=1; turnetl=right-cookie"],
        ["turnetl=of-an-earlier-start; turnetl=right-cookie"],
        ['other="a;b"', "turnetl=right-cookie"],
    ],
)
def test_the_cookie_is_found_beside_others(cookies: list[str]) -> None:
    assert decide(replace(INSIDE, cookies=cookies), KEYS) is GrantedAccess.PAGE


@given(st.text(max_size=40))
def test_no_other_cookie_is_accepted(value: str) -> None:
    assume("right-cookie" not in value)
    for header in (value, f"turnetl={value}", f"turnetl={value}right-cooki", f"x{COOKIE}{value}"):
        assert decide(replace(INSIDE, cookies=[header]), KEYS) is Refusal.NO_COOKIE


@given(st.binary(max_size=60), st.text(max_size=30), st.text(max_size=30))
def test_nothing_that_a_stranger_sends_lets_it_in(query: bytes, path: str, text: str) -> None:
    assume(not path.startswith("/static/"))
    request = RequestHead("GET", path, query, ["localhost"], [text])
    assert isinstance(decide(request, KEYS), Refusal)
    assert isinstance(decide(replace(request, path="/", hosts=[text]), KEYS), Refusal)


def test_a_query_that_is_too_long_is_refused() -> None:
    assert decide(replace(INSIDE, query=b"q" * MAX_QUERY), KEYS) is GrantedAccess.PAGE
    assert decide(replace(INSIDE, query=b"q" * (MAX_QUERY + 1)), KEYS) is Refusal.TOO_LONG


def test_the_script_needs_no_cookie() -> None:
    """It is the same for everyone, and the page of a refusal loads it."""
    assert decide(replace(INSIDE, path="/static/pages.js", cookies=[]), KEYS) is GrantedAccess.PAGE


def test_every_start_has_other_keys_of_at_least_256_bits() -> None:
    first, second = AccessKeys.new(), AccessKeys.new()
    assert first.token != second.token
    assert first.cookie != second.cookie
    assert first.folder != second.folder
    assert first.token != first.cookie
    assert min(len(first.token), len(first.cookie)) >= 43


def test_the_entry_leads_to_the_token_and_the_cookie_only_to_the_folder() -> None:
    assert parse_qs(urlsplit(KEYS.entry).query) == {"token": ["right-token"]}
    attributes = KEYS.set_cookie.split("; ")
    assert attributes == [COOKIE, "Path=/folder/", "HttpOnly", "SameSite=Strict"]


def test_a_refusal_has_a_status_of_an_error() -> None:
    assert {refusal.status for refusal in Refusal} <= set(HTTPStatus)
    assert all(refusal.status >= HTTPStatus.BAD_REQUEST for refusal in Refusal)
