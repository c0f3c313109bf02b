"""Every page over the samples: what a user asks it, and what it answers."""

import asyncio
import re
from collections import deque
from datetime import timedelta
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest

import turnetl
from tests.cli.archives import conversation, tool_call, tool_result, write_archive
from tests.cli.command import SAMPLES
from tests.cli.test_assumed_time import MARCH
from tests.html.html_parsing import ParsedPage
from tests.web.visiting import NOW, Visitor, links, visiting
from turnetl.web.access import MAX_QUERY

SESSION = "6beda5ed-5df4-42a1-99b8-0364221dca9b"
TURN, CART, ERROR = "66185fa7", "src/bookshop/cart.py", "KeyError: 'price'"
OF_SUBAGENTS = ("67eb4ab2", "bbf0d89a")
"""Turns for which subagents worked: one of a known type, and one that a fact is from."""
PROMPT = (
    "the checkout tests fail since I pulled this morning. find out why and fix it, run only "
    "tests/test_checkout.py"
)
TITLE = PROMPT.replace("the checkout", "The checkout").replace("find out", "Find out")
BAD_IDS = (
    *("", "nonsense", "../../etc/passwd", "\x00", "%00", "%", "a" * 3000, "\ud83d"),
    *("' OR 1=1 --", "<script>alert(1)</script>", "/", "./.", "\n"),
)
RESUME = f"cd /home/dev/bookshop && claude --resume {SESSION}"


@pytest.mark.full
async def test_the_first_page_lists_projects_and_the_last_turns_with_their_lines(
    visitor: Visitor,
) -> None:
    page = await visitor.page("")
    found = links(page)
    assert found["bookshop"] == "project?group=bookshop"
    assert found["shoebox"] == "project?group=shoebox"
    # Only the last turns show their lines, each below its title.
    first = next(href for href, _ in page.links if href.startswith("lines?"))
    lines = next(text for href, text in page.links if href == first)
    turn = first.replace("lines?", "turn?")
    titles = [text for href, text in page.links if href == turn]
    assert lines.endswith("2026-05-05-export.jsonl:14")
    assert titles[-1].startswith("The accountant says refunds are missing")


async def test_each_list_of_facts_leads_to_turns_with_more_of_them(tmp_path: Path) -> None:
    rows = [
        *conversation("I prefer tabs over spaces.", "The page is broken after login.", at=MARCH),
        tool_call("c1", "Bash", MARCH, command="pytest -q"),
        tool_result("r1", "c1", "E   KeyError: 'price'\n1 failed in 0.12s", MARCH),
        tool_call("c2", "Edit", MARCH, file_path="/home/dev/shop/a.py", new_string="price = 1"),
        tool_result("r2", "c2", "Updated", MARCH),
        tool_call("c3", "Bash", MARCH, command="pytest -q"),
        tool_result("r3", "c3", "1 passed in 0.12s", MARCH),
    ]
    write_archive(tmp_path / "archives" / "a.jsonl", rows)
    settings = turnetl.Settings(lake=tmp_path / "lake")
    await turnetl.backfill(tmp_path / "archives", settings)
    async with visiting(settings) as visitor:
        page = await visitor.page("project", group="shop")
        assert "The page is broken after login." in page.text
        more = [href for href, text in page.links if text == "Turns with more of them"]
        relations = [re.findall("relation=([A-Z_]+)", href) for href in more]
        assert relations == [["PREFERS"], ["FIXED_BY"], ["REPORTED"]]
        for (relation,) in relations:
            found = await visitor.page("timeline", group="shop", relation=relation)
            assert any(href.startswith("turn?") for href, _ in found.links)


async def test_the_first_page_shows_days_decisions_errors_and_entities(visitor: Visitor) -> None:
    page = await visitor.page("")
    assert "svg" in page.names()
    assert "2026-05-05" in page.text
    assert links(page)[ERROR].startswith("entity?id=")
    headings = ("Decisions", "Built and fixed", "Open problems", "Activity", "Projects")
    for heading in (*headings, "Errors of most turns", "Entities of most turns", "File"):
        assert heading in page.text


async def test_the_first_page_says_which_week_it_shows_if_this_one_is_empty(
    visitor: Visitor,
) -> None:
    page = await visitor.page("")
    assert "The last week with results, until 2026-05-05" in page.text
    assert "This week" not in page.text


@pytest.mark.full
async def test_the_first_page_tells_what_was_decided_fixed_and_is_open_by_week(
    tmp_path: Path,
) -> None:
    settings = turnetl.Settings(lake=tmp_path / "lake")
    prompts = {2: "We decided to keep prices in cents", 20: "We decided to drop the old cart"}
    for days, prompt in prompts.items():
        at = NOW - timedelta(days=days)
        rows = [
            *conversation(prompt, session=f"s{days}", at=at),
            tool_call(f"t{days}", "Bash", at, command="pytest -q"),
            tool_result(f"o{days}", f"t{days}", "FAILED tests/test_a.py::test_a - KeyError", at),
        ]
        write_archive(tmp_path / "archives" / f"{days}.jsonl", rows)
    await turnetl.backfill(tmp_path / "archives", settings)
    async with visiting(settings) as visitor:
        text = (await visitor.page("")).text
    week, month = text.index("This week"), text.index("Earlier this month")
    assert week < text.index("eep prices in cents") < month < text.index("rop the old cart")


async def test_the_page_of_a_project_tells_what_holds_its_sessions_and_its_files(
    visitor: Visitor,
) -> None:
    page = await visitor.page("project", group="bookshop")
    found = links(page)
    assert found[CART].startswith("entity?id=")
    assert found["All its turns"] == "timeline?group=bookshop"
    assert len([href for href, _ in page.links if href.startswith("session?id=")]) > 3
    for heading in ("Decisions", "Built and fixed", "Open problems", "Last sessions", "Activity"):
        assert heading in page.text
    assert "~/bookshop" in page.text


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([], "add the name of one project to the address"),
        (["bookshop", "shoebox"], "add the name of one project to the address"),
        (["nowhere"], "there is no group `nowhere`"),
    ],
)
async def test_the_page_of_no_project_says_what_is_wrong(
    groups: list[str], message: str, visitor: Visitor
) -> None:
    assert message in (await visitor.page("project", 404, group=groups)).text


@pytest.mark.full
async def test_the_first_page_has_the_turns_that_were_added_since(tmp_path: Path) -> None:
    settings = turnetl.Settings(lake=tmp_path / "lake")
    archives = tmp_path / "archives"
    write_archive(archives / "a.jsonl", conversation("Add a cart", session="s1", at=MARCH))
    await turnetl.backfill(archives, settings)
    async with visiting(settings) as visitor:
        assert "All turns (1)" in (await visitor.page("")).text
        write_archive(archives / "b.jsonl", conversation("Refund it", session="s2", at=MARCH))
        await turnetl.backfill(archives, settings)
        assert "Refund it" in links(await visitor.page(""))


async def test_without_a_query_the_page_of_errors_lists_those_of_most_turns(
    visitor: Visitor,
) -> None:
    page = await visitor.page("fix", group="bookshop")
    assert links(page)[ERROR].startswith("entity?id=")
    assert ERROR not in links(await visitor.page("fix", group="shoebox"))


@pytest.mark.full
async def test_the_report_is_made_of_what_there_is_now_and_leads_to_the_pages(
    visitor: Visitor,
) -> None:
    page = await visitor.page("report", group="bookshop", since="2026-03")
    found = links(page)
    assert found[TITLE].startswith(f"turn?id={TURN}")
    assert "Contents" in found
    assert "Overview" in found
    assert "Only bookshop." in page.text
    assert not [href for href in page.attributes("href") if href.startswith("file:")]
    ids = {f"#{one}" for one in page.attributes("id")}
    assert {href for href in page.attributes("href") if href.startswith("#")} <= ids


@pytest.mark.full
async def test_reports_are_made_beside_each_other(visitor: Visitor) -> None:
    async def links_of(group: str) -> dict[str, str]:
        return links(await visitor.page("report", group=group))

    alone = {group: await links_of(group) for group in ("bookshop", "shoebox")}
    groups = [*alone] * 3
    assert [alone[group] for group in groups] == await asyncio.gather(*map(links_of, groups))


async def test_what_is_wrong_with_the_parameters_of_a_report_is_said(visitor: Visitor) -> None:
    assert "`soon` is no time" in (await visitor.page("report", 400, since="soon")).text
    assert "there is no group `x`" in (await visitor.page("report", 400, group="x")).text


async def test_a_search_leads_to_the_turn_its_lines_its_files_and_its_project(
    visitor: Visitor,
) -> None:
    page = await visitor.page("search", q="checkout tests fail price")
    found = links(page)
    assert found[TITLE].startswith(f"turn?id={TURN}")
    assert found[CART] == "file?path=src%2Fbookshop%2Fcart.py&group=bookshop"
    assert found["bookshop"] == "project?group=bookshop"
    assert any(href.startswith(f"lines?id={TURN}") for href, _ in page.links)


async def test_a_search_is_restricted_by_project_and_time(visitor: Visitor) -> None:
    all_projects = await visitor.page("search", since="2026-03", until="2026-05")
    march = await visitor.page("search", group="bookshop", since="2026-03", until="2026-03")
    april = await visitor.page("search", group="bookshop", since="2026-04", until="2026-04")
    assert {"bookshop", "shoebox"} <= links(all_projects).keys()
    assert "shoebox" not in links(march)
    assert TITLE in links(march)
    assert TITLE not in links(april)
    assert [href for href, _ in april.links if href.startswith("turn?")]


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        ("file", "cart.py"),
        ("entity", ERROR),
        ("tool", "bash"),
        ("branch", "main"),
        ("format", "claude_code"),
        ("label", "Error"),
        ("relation", "FAILED_WITH"),
        ("session", SESSION[:8]),
        ("as_of", "2026-03-03"),
    ],
)
async def test_every_filter_of_the_form_selects_turns_and_keeps_its_value(
    condition: str, value: str, visitor: Visitor
) -> None:
    page = await visitor.page("search", **{"group": "bookshop", condition: value})
    assert links(page)[TITLE].startswith(f"turn?id={TURN}")
    fields = [tag for name, tag in page.tags if name == "input" and tag["name"] == condition]
    assert [field["value"] for field in fields] == [value]


async def test_a_search_without_hits_says_why(visitor: Visitor) -> None:
    page = await visitor.page("search", q="zygomorphic quokka husbandry")
    assert "nothing close to the query" in page.text
    page = await visitor.page("search", q='cart "no such phrase anywhere"')
    assert "every hit must contain the quoted text" in page.text


async def test_nothing_is_searched_for_and_nothing_is_wrong_with_an_empty_form(
    visitor: Visitor,
) -> None:
    page = await visitor.page("search")
    assert "alert" not in page.attributes("role")
    assert not [href for href, _ in page.links if href.startswith("turn?")]


@pytest.mark.parametrize(
    ("page", "parameters", "message"),
    [
        ("search", {"q": "x", "since": "soon"}, "`soon` is no time for “since”"),
        ("search", {"q": "x", "group": "nowhere"}, "there is no group `nowhere`"),
        ("search", {"sort": "colour"}, "not by `colour`"),
        ("search", {"q": "x", "page": "26"}, "at most 25 pages"),
        ("search", {"format": "claude_cod"}, "did you mean `claude_code`?"),
        ("timeline", {"page": "x"}, "`x` is no page"),
        ("timeline", {"group": "nowhere"}, "existing groups: bookshop, shoebox"),
        ("timeline", {"file": "crt.py"}, "no turn has a fact about the file `crt.py`"),
        ("timeline", {"session": "nope"}, "no session has an id that begins with `nope`"),
        ("fix", {"q": "KeyError", "group": "nowhere"}, "there is no group `nowhere`"),
    ],
)
async def test_what_is_wrong_with_a_form_is_said_beside_it(
    page: str, parameters: dict[str, str], message: str, visitor: Visitor
) -> None:
    found = await visitor.page(page, 400, **parameters)
    assert message in found.text
    assert "alert" in found.attributes("role")
    assert "form" in found.names()


async def test_the_timeline_has_all_turns_of_a_project_newest_first(visitor: Visitor) -> None:
    page = await visitor.page("timeline", group="bookshop")
    turns = [href for href, _ in page.links if href.startswith("turn?")]
    assert "Turns 1 to 18 of 18" in page.text
    assert len(turns) == 18
    times = [time for time in page.attributes("datetime") if time]
    assert times[:18] == sorted(times[:18], reverse=True)


async def test_a_page_after_the_last_one_leads_back(visitor: Visitor) -> None:
    page = await visitor.page("timeline", group="bookshop", page="9")
    assert "There are no further turns." in page.text
    assert links(page)["Previous page"] == "timeline?group=bookshop&page=8"


async def test_a_turn_is_shown_with_its_text_its_steps_its_facts_and_its_neighbours(
    visitor: Visitor,
) -> None:
    page = await visitor.page("turn", id=TURN)
    found = links(page)
    assert PROMPT in page.text
    assert "pytest -q tests/test_checkout.py" in page.text
    assert "Migration 0007 renamed the column" in page.text
    assert found[SESSION] == f"session?id={SESSION}"
    assert any(text.startswith("Next turn: Floats for money") for text in found)
    assert ERROR in found
    assert RESUME in page.text
    assert "is that of the graph" not in page.text


async def test_the_resume_command_can_be_copied_by_the_script_and_by_hand(visitor: Visitor) -> None:
    response = await visitor.get("turn", id=TURN)
    assert f"<code data-copy>{RESUME.replace('&', '&amp;')}</code>" in response.text
    assert "<button>Copy" not in response.text


@pytest.mark.full
async def test_without_the_lake_the_text_is_that_of_the_graph_and_the_page_says_so(
    sample_settings: turnetl.Settings, tmp_path_factory: pytest.TempPathFactory
) -> None:
    lake = tmp_path_factory.mktemp("no_lake")
    graph = f"ladybug://{sample_settings.lake / 'graph.lbug'}"
    settings = turnetl.Settings(lake=lake / "lake", graph=graph)
    async with visiting(settings) as visitor:
        page = await visitor.page("turn", id=TURN)
    assert "The lake does not have this turn" in page.text
    assert PROMPT in page.text


async def test_a_session_is_shown_with_its_turns_in_order(visitor: Visitor) -> None:
    page = await visitor.page("session", id=SESSION)
    turns = [text for href, text in page.links if href.startswith("turn?")]
    assert turns[0] == TITLE
    assert RESUME in page.text
    assert "Turns 1 to " in page.text


async def test_an_entity_is_followed_from_a_turn_to_its_other_turns(visitor: Visitor) -> None:
    turn = await visitor.page("turn", id=TURN)
    error = await visitor.page(links(turn)[ERROR])
    assert TITLE in links(error)
    assert "no longer" not in error.text
    fixes = await visitor.page(links(error)["What resolved it"])
    assert "fixed 2026-03-03 09:12" in fixes.text
    assert "Migration 0007" in fixes.text


@pytest.mark.full
async def test_a_link_to_an_entity_leads_to_it_and_not_to_one_that_is_named_like_its_id(
    tmp_path: Path, visitor: Visitor
) -> None:
    href = links(await visitor.page("turn", id=TURN))[ERROR]
    id_ = href.partition("id=")[2]
    lake = turnetl.Settings(lake=tmp_path / "lake")
    rows = [
        *conversation("Edit it", at=MARCH),
        tool_call("e1", "Edit", MARCH, file_path=f"/home/dev/shop/{id_[:8]}", new_string="x = 1"),
        tool_result("r1", "e1", "done", MARCH),
    ]
    write_archive(tmp_path / "archives" / "a.jsonl", rows)
    await turnetl.backfill([SAMPLES, tmp_path / "archives"], lake)
    async with visiting(lake) as other:
        assert ERROR in (await other.page("entity", id=id_)).text
        assert "File" in (await other.page("entity", name=id_[:8])).text


async def test_an_entity_is_found_by_name_and_label(visitor: Visitor) -> None:
    page = await visitor.page("entity", name=ERROR.upper(), label="error", group="bookshop")
    assert ERROR in page.text
    assert "there is no entity" in (await visitor.page("entity", 404, name="nothing")).text


async def test_a_file_is_found_by_its_path_in_any_checkout(visitor: Visitor) -> None:
    for path in (CART, "/elsewhere/bookshop/src/bookshop/cart.py"):
        page = await visitor.page("file", path=path)
        assert f"{CART}" in page.text
        assert re.search(r"\d+ facts, named in 2 turns, newest first", page.text)
        assert links(page)["Its turns in the timeline"].startswith("timeline?file=src")
    missing = await visitor.page("file", 404, path="src/bookshop/crt.py")
    assert "there is no file `src/bookshop/crt.py`" in missing.text


async def test_a_fact_leads_to_both_entities_and_to_the_turns_that_state_it(
    visitor: Visitor,
) -> None:
    turn = await visitor.page("turn", id=TURN)
    href = next(href for href, _ in turn.links if href.startswith("fact?"))
    page = await visitor.page(href)
    assert len([href for href, _ in page.links if href.startswith("entity?")]) == 2
    assert TITLE in links(page)


async def test_what_a_subagent_did_is_marked_in_its_turn(visitor: Visitor) -> None:
    known, unknown = [await visitor.page("turn", id=turn) for turn in OF_SUBAGENTS]
    assert "cat migrations/0005_payments.sql by subagent Explore" in known.text
    assert "by a subagent" in unknown.text


async def test_an_invalidated_fact_says_since_when(visitor: Visitor) -> None:
    page = await visitor.page("entity", name=ERROR)
    assert "del" in page.names()
    assert "ended on 2026-03-03 09:12" in page.text


async def test_the_lines_of_a_turn_are_shown_without_secrets(visitor: Visitor) -> None:
    page = await visitor.page("lines", id=TURN)
    assert "2026-03-03-checkout.jsonl" in page.text
    assert "line-3" in page.attributes("id")
    assert "parentUuid" in page.text
    wrong = await visitor.page("lines", 404, id=SESSION)
    assert "is no turn: only turns, and facts" in wrong.text


@pytest.mark.parametrize(
    ("page", "id_", "leads_to"),
    [("turn", SESSION, "session"), ("session", TURN, "turn"), ("fact", "1e15e7e3", "entity")],
)
async def test_an_id_of_something_else_leads_to_its_own_page(
    page: str, id_: str, leads_to: str, visitor: Visitor
) -> None:
    response = await visitor.get(page, id=id_)
    assert response.status_code == 303
    assert response.headers["location"].startswith(f"{leads_to}?id={id_}")


@pytest.mark.full
async def test_a_name_that_several_entities_have_leads_to_each_of_them(tmp_path: Path) -> None:
    lake = turnetl.Settings(lake=tmp_path / "lake")
    for project in ("shop", "till"):
        rows = [
            *conversation("Edit it", session=project, at=MARCH),
            tool_call(f"{project}-e", "Edit", MARCH, file_path="README.md", new_string="x"),
            tool_result(f"{project}-r", f"{project}-e", "done", MARCH),
        ]
        in_project = [text.replace("/home/dev/shop", f"/home/dev/{project}") for text in rows]
        write_archive(tmp_path / "archives" / f"{project}.jsonl", in_project)
    await turnetl.backfill(tmp_path / "archives", lake)
    async with visiting(lake) as visitor:
        for page in ("entity", "turn"):
            choices = await visitor.page(page, 300, name="README.md", id="README.md")
            found = [href for href, _ in choices.links if href.startswith("entity?id=")]
            assert len(found) == 2
            projects = [(await visitor.page(href)).text for href in found]
            assert ["shop" in text for text in projects] != ["till" in text for text in projects]


@pytest.mark.full
async def test_turns_at_one_line_of_archives_with_one_name_are_all_linked(tmp_path: Path) -> None:
    lake = turnetl.Settings(lake=tmp_path / "lake")
    for folder, prompt in {"one": "Add a cart", "two": "Refund an order"}.items():
        rows = conversation(prompt, session=folder, at=MARCH)
        write_archive(tmp_path / "archives" / folder / "a.jsonl", rows)
    await turnetl.backfill(tmp_path / "archives", lake)
    async with visiting(lake) as visitor:
        choices = await visitor.page("turn", 300, id="a.jsonl:2")
        texts = [text for href, text in choices.links if href.startswith("turn?id=")]
        assert sorted("Refund" in text for text in texts) == [False, True]
        assert all(f"{tmp_path}/archives/" in text for text in texts)
        for href, _ in choices.links:
            await visitor.page(href)
        only = await visitor.page("turn", id=f"{tmp_path}/archives/two/a.jsonl:1-2")
        assert "Refund an order" in only.text


async def test_the_beginning_of_several_ids_leads_to_the_first_of_them(visitor: Visitor) -> None:
    choices = await visitor.page("turn", 300, id="0")
    assert len([href for href, _ in choices.links if "?id=" in href]) == 8
    assert "These are not all" in choices.text


@pytest.mark.parametrize("page", ["turn", "session", "entity", "file", "fact", "lines"])
@pytest.mark.parametrize("id_", BAD_IDS)
async def test_an_id_that_leads_to_nothing_is_a_page_with_a_sentence(
    page: str, id_: str, visitor: Visitor
) -> None:
    id_ = id_.encode("utf-8", "replace").decode()
    found = await visitor.page(page, 404, id=id_, path=id_ if page == "file" else "")
    assert "unexpected" not in found.text
    assert "To the overview" in links(found)


@pytest.mark.parametrize("page", ["turn", "session", "entity", "file", "fact"])
async def test_a_page_of_an_item_without_an_id_says_that_it_is_missing(
    page: str, visitor: Visitor
) -> None:
    assert "no id and no name is given" in (await visitor.page(page, 404)).text


async def test_an_address_without_a_page_is_not_found(visitor: Visitor) -> None:
    for path in ("nowhere", "turn/x", "static/pages.js"):
        assert "there is no such page" in (await visitor.page(path, 404)).text


async def test_a_very_long_query_is_answered_or_refused_with_a_sentence(visitor: Visitor) -> None:
    assert (await visitor.get("search", q="cart " * 1500)).status_code == 200
    refused = await visitor.page("search", 414, q="c" * MAX_QUERY)
    assert "the address is too long" in refused.text


@pytest.mark.full
async def test_requests_at_the_same_time_are_all_answered(visitor: Visitor) -> None:
    addresses = ("", "timeline", "turn?id=66185fa7", "search?q=cart", "lines?id=66185fa7") * 8
    found = await asyncio.gather(*(visitor.get(address) for address in addresses))
    assert {response.status_code for response in found} == {200}


async def test_a_request_that_is_cancelled_leaves_the_others_alone(visitor: Visitor) -> None:
    cancelled = asyncio.create_task(visitor.get("lines", id=TURN))
    assert (await visitor.get("")).status_code == 200  # meanwhile, the other one has begun
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    assert (await visitor.get("turn", id=TURN)).status_code == 200


@pytest.mark.full
async def test_every_link_of_every_page_leads_to_a_page(visitor: Visitor) -> None:
    """From the first page, over all turns, sessions, entities, files, facts and lists."""
    start = str(visitor.client.base_url) + visitor.keys.start_page
    waiting, seen = deque([start]), {start}
    while waiting:
        address = waiting.popleft()
        response = await visitor.client.get(address)
        assert response.status_code == 200, address
        for href in ParsedPage(response.text).attributes("href"):
            target = urljoin(address, href).partition("#")[0]
            assert target.startswith(start), f"{address} leads to {href}"
            kind = urlsplit(target).path
            # The lines of a few turns tell as much as those of all.
            if target not in seen and not (kind.endswith("lines") and len(seen) % 20):
                seen.add(target)
                waiting.append(target)
    assert len(seen) > 200
