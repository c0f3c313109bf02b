"""What every response says to a browser, and who gets none."""

import httpx
import pytest

import turnetl
from tests.html.html_parsing import ParsedPage
from tests.web.visiting import Visitor, visiting
from turnetl.html.pages import source_hash, stylesheet
from turnetl.web.access import MAX_QUERY

ADDRESSES = (
    *("", "search?q=cart", "timeline", "fix?q=KeyError", "turn?id=66185fa7", "nowhere"),
    *("/static/pages.js", "/static/nothing", "/", "/?token=wrong", "/favicon.ico"),
)
METHODS = ("HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")


async def responses(visitor: Visitor) -> list[httpx.Response]:
    """Return responses of every kind: pages, the script, redirects and refusals."""
    start = visitor.keys.start_page
    found = [
        await visitor.client.get(address if address.startswith("/") else start + address)
        for address in ADDRESSES
    ]
    found.append(await visitor.client.get(visitor.keys.entry))
    found.append(await visitor.client.get(start, headers={"host": "example.org"}))
    found.append(await visitor.client.get(f"{start}search?q={'x' * MAX_QUERY}"))
    return [*found, await visitor.client.post(start)]


@pytest.mark.full
async def test_every_response_has_a_policy_that_loads_and_runs_nothing_of_others(
    visitor: Visitor,
) -> None:
    for response in await responses(visitor):
        policy = dict(
            part.split(" ", 1) for part in response.headers["content-security-policy"].split("; ")
        )
        assert policy == {
            "default-src": "'none'",
            "style-src": source_hash(stylesheet()),
            "script-src": "'self'",
            "connect-src": "'self'",
            "form-action": "'self'",
            "base-uri": "'none'",
            "frame-ancestors": "'none'",
        }


async def test_no_response_is_kept_sniffed_framed_or_read_by_another_origin(
    visitor: Visitor,
) -> None:
    for response in await responses(visitor):
        headers = response.headers
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert not [name for name in headers if name.startswith("access-control")]


async def test_a_request_of_another_origin_gets_no_permission(visitor: Visitor) -> None:
    response = await visitor.client.get(
        visitor.keys.start_page, headers={"origin": "https://example.org"}
    )
    assert not [name for name in response.headers if name.startswith("access-control")]


async def test_the_token_becomes_a_cookie_and_leaves_the_address(
    sample_settings: turnetl.Settings,
) -> None:
    async with visiting(sample_settings, entered=False) as visitor:
        response = await visitor.client.get(visitor.keys.entry)
        assert response.status_code == 303
        assert response.headers["location"] == visitor.keys.start_page
        assert visitor.keys.token not in str(response.headers)
        cookie = response.headers["set-cookie"]
        assert cookie.endswith(f"; Path={visitor.keys.start_page}; HttpOnly; SameSite=Strict")
        page = await visitor.client.get(response.headers["location"])
        assert page.status_code == 200
        assert visitor.keys.token not in page.text
        assert visitor.keys.cookie not in page.text
        assert visitor.keys.folder not in page.text


@pytest.mark.parametrize("address", ["", "search?q=cart", "turn?id=66185fa7", "lines?id=66185fa7"])
async def test_without_the_cookie_no_page_says_anything_of_the_turns(
    address: str, sample_settings: turnetl.Settings
) -> None:
    async with visiting(sample_settings, entered=False) as visitor:
        for cookies in (
            {},
            {"cookie": "turnetl=wrong"},
            {"cookie": f"turnetl={visitor.keys.token}"},
        ):
            response = await visitor.client.get(visitor.keys.start_page + address, headers=cookies)
            assert response.status_code == 403
            page = ParsedPage(response.text)
            assert "this browser has not been let in" in page.text
            assert "bookshop" not in response.text
            assert [href for href, _ in page.links] == ["#content", "./"]
            assert visitor.keys.folder not in response.text


async def test_a_wrong_token_is_refused_and_sets_no_cookie(visitor: Visitor) -> None:
    response = await visitor.client.get("/?token=wrong")
    assert response.status_code == 403
    assert "the token in the address is not that of this `turnetl serve`" in response.text
    assert "set-cookie" not in response.headers


async def test_another_name_for_this_machine_is_refused(visitor: Visitor) -> None:
    response = await visitor.client.get(
        visitor.keys.start_page, headers={"host": "rebound.example.org:8420"}
    )
    assert response.status_code == 421
    assert "only for addresses of this machine" in response.text
    assert "bookshop" not in response.text


@pytest.mark.parametrize("method", METHODS)
async def test_every_method_but_get_is_refused(method: str, visitor: Visitor) -> None:
    for address in (visitor.keys.start_page, "/static/pages.js", visitor.keys.entry):
        response = await visitor.client.request(method, address)
        assert response.status_code == 405
        assert response.headers["allow"] == "GET"


async def test_a_page_names_nothing_outside_of_this_server(visitor: Visitor) -> None:
    for response in await responses(visitor):
        if response.headers.get("content-type", "").startswith("text/html"):
            page = ParsedPage(response.text)
            assert page.attributes("src") == ["/static/pages.js"]
            assert not [href for href in page.attributes("href") if ":" in href]
            assert page.attributes("style") == []


async def test_the_script_is_one_file_and_nothing_beside_it_is_served(visitor: Visitor) -> None:
    script = await visitor.client.get("/static/pages.js")
    assert script.status_code == 200
    assert script.headers["content-type"].startswith("text/javascript")
    for path in ("/static/", "/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py"):
        assert (await visitor.client.get(path)).status_code in (403, 404)


async def test_two_servers_let_in_only_their_own_visitors(
    visitor: Visitor, sample_settings: turnetl.Settings
) -> None:
    async with visiting(sample_settings) as other:
        cookie = {"cookie": f"turnetl={visitor.keys.cookie}"}
        response = await other.client.get(other.keys.start_page, headers=cookie)
        assert response.status_code == 403
        assert (await other.get("")).status_code == 200
        assert (await visitor.get("")).status_code == 200
