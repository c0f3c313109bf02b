"""Names in prompts and responses, with the calls that show what they are."""

from typing import Any

import pytest

from tests import builders
from tests.builders import tool
from tests.extraction.structural.shop_group import ShopGroup
from turnetl.base import ids
from turnetl.base.model import Turn
from turnetl.extraction.structural import entity_names
from turnetl.extraction.structural.turn_features import turn_features

CALLS = (
    tool("Bash", "git checkout -b ann/fix-cart && golangci-lint run && npm install left-pad"),
    tool("Bash", "git log --oneline", "3f2a9c1 Round prices\n"),
    tool(
        "Edit",
        "/home/dev/shop/src/cart.py :: - a + os.environ['CART_URL']; MAX_ITEMS = 3; logging.Init()",
    ),
    tool("Read", "/home/dev/shop/src/shop.toml", "grace-period = 3\n"),
    tool("Read", "/home/dev/shop/src/total.go", "func OrderTotal() {}\nfunc TestTotal_Rounds()"),
    tool("Bash", "ls docs", "docs/prices.md\n"),
)
NAMED = [
    ("OrderTotal", "Symbol", "OrderTotal"),
    ("`cart.add_item(book)`", "Symbol", "add_item"),
    ("`logging.Init`", "Symbol", "logging.Init"),
    ("MAX_ITEMS", "Symbol", "MAX_ITEMS"),
    ("TestTotal_Rounds", "Test", "TestTotal_Rounds"),
    ("CART_URL", "Setting", "CART_URL"),
    ("`grace-period`", "Setting", "grace-period"),
    ("`--dry-run=yes`", "Flag", "--dry-run"),
    ("cart.py", "File", "src/cart.py"),
    ("docs/prices.md", "File", "docs/prices.md"),
    ("SHOP-12", "Ticket", "SHOP-12"),
    ("PR #7", "PR", "#7"),
    ("https://github.com/ann/shop/pull/7", "PR", "#7"),
    ("https://github.com/ann/other/issues/8", "Ticket", "ann/other#8"),
    ("left-pad", "Package", "left-pad"),
    ("golangci-lint", "Tool", "golangci-lint"),
    ("`git log -3`", "Command", "git log"),
    ("ann/fix-cart", "Branch", "ann/fix-cart"),
    ("3f2a9c1", "Commit", "3f2a9c1"),
]
NOT_NAMED = [
    *("the approach", "Perfect!", "`true`", "JavaScript", "PostgreSQL", "UTF-8", "#3 is better"),
    *("file1.ts", "`A.txt`", "`entire/48b5711`", "a1b2c3d", "2026-01-31-abc123", "FETCH_HEAD"),
    *("the entire cart", "Option A", "v1.2.3", "`x`", "Init()", "`1:1`", "step-2", "main"),
]


def _turn(**fields: Any) -> Turn:
    return builders.episode(**fields).turn


def test_a_thing_has_the_label_of_its_form_and_of_what_calls_show(
    subtests: pytest.Subtests,
) -> None:
    features = turn_features(_turn(tool_calls=CALLS))
    for text, label, name in NAMED:
        with subtests.test(text):
            found = features.entities_in(f"What about {text} now?")
            assert [(key.label, key.name) for key in found] == [(label, name)]


def test_words_values_in_examples_and_brand_names_are_no_things(
    subtests: pytest.Subtests,
) -> None:
    features = turn_features(_turn(tool_calls=CALLS))
    for text in NOT_NAMED:
        with subtests.test(text):
            assert features.entities_in(f"What about {text} now?") == []


def test_a_bare_file_name_that_two_opened_files_have_is_none() -> None:
    calls = (*CALLS, tool("Read", "/home/dev/shop/tests/cart.py"))
    assert turn_features(_turn(tool_calls=calls)).entities_in("See `cart.py`.") == []


async def test_a_chat_without_a_thing_has_no_entity_but_its_statements(shop: ShopGroup) -> None:
    await shop.ingest(
        user_text="How does sourdough bread differ from EAN-13 or React bread flour?",
        assistant_text="**Sourdough bread** rises with wild yeast; `bread` is bread.",
        cwd=None,
        git_branch=None,
    )
    labels = {label for entity in shop.group.entities for label in entity.labels}
    assert labels <= {"Decision", "Preference", "Concept", "User"}
    assert "sourdough bread" not in shop.names("Concept")


def test_spellings_of_one_thing_have_one_id_and_other_things_another(
    subtests: pytest.Subtests,
) -> None:
    groups = {
        "Symbol": [
            ["cart.addItem()", "add_item", "Cart::addItem"],
            ["*Cart.AddItem", "(*Cart).AddItem", "AddItem()"],
            ["a.Init"],
            ["a.init"],
        ],
        "Test": [["TestCart_Adds", "TestCartAdds"], ["adds two. items", "Adds two. items"]],
        "Package": [["github.com/go-git/go-git/v5", "go-git/go-git"], ["left_pad", "Left-Pad"]],
        "Setting": [["CART_URL", "cart-url", "cart.url"], ["CARTURL"]],
        "Branch": [["origin/ann/fix", "ann/fix", "refs/heads/ann/fix"], ["fix"]],
        "Commit": [["3f2a9c1", "3f2a9c1d0e"], ["3f2a9c2"]],
        "Concept": [["shadow branches", "Shadow-branch"], ["status"], ["statuses of"]],
        "File": [["src/Cart.py", "src/cart.py"], ["src/ca_rt.py"]],
    }
    for label, things in groups.items():
        with subtests.test(label):
            folded = [{ids.folded_name(label, name) for name in names} for names in things]
            assert [len(one) for one in folded] == [1] * len(things)
            assert len(set.union(*folded)) == len(things)


async def test_a_named_thing_has_its_place_and_a_ticket_needs_none(shop: ShopGroup) -> None:
    asked = "What is OrderTotal in `total.go`, and `maxItems`? Who calls `roundUp`?"
    shown = tool("Read", "/home/dev/shop/src/cart.go", "maxItems = 3\nreturn roundUp(x)")
    await shop.ingest(user_text=asked, tool_calls=(*CALLS[4:5], shown))
    summaries = {entity.name: entity.summary for entity in shop.group.entities}
    assert summaries["OrderTotal"] == "Function in `src/total.go`."
    assert summaries["maxItems"] == "Symbol in `src/cart.go`."
    assert summaries["roundUp"] == "Symbol used in `src/cart.go`."
    assert summaries["src/total.go"] == "File that declares `OrderTotal`, `TestTotal_Rounds`."
    await shop.ingest("b", user_text="SHOP-12 is about late refunds. Where are they?")
    assert shop.names("Ticket") == ["SHOP-12"]


async def test_what_is_only_named_is_no_entity_until_a_turn_tells_of_it(
    shop: ShopGroup,
) -> None:
    await shop.ingest("0", user_text="Why does `OrderTotal` round?", assistant_text="It is a sum.")
    assert shop.names("Symbol") == []
    await shop.ingest("a", user_text="`OrderTotal` should never round")
    [before] = [one for one in shop.group.entities if one.name == "OrderTotal"]
    await shop.ingest("b", user_text="explain `OrderTotal`", tool_calls=CALLS[4:5])
    after = shop.group.entity(before.uuid)
    assert before.summary == ""
    assert after is not None
    assert after.summary == "Function in `src/total.go`."


async def test_what_only_a_response_names_is_no_entity(shop: ShopGroup) -> None:
    await shop.ingest(assistant_text="`OrderTotal` rounds down every price.")
    assert shop.names("Symbol") == []


def test_a_branch_is_named_after_a_ticket_but_not_after_a_kind_of_work() -> None:
    tickets = [
        entity_names.ticket_of(name) for name in ("ann/shop-12-fix", "SHOP-12", "main", None)
    ]
    assert [ticket and ticket.name for ticket in tickets] == ["SHOP-12", "SHOP-12", None, None]
    assert [entity_names.ticket_of(name) for name in ("fix-12", "a/b-1", "py-312-x")] == [None] * 3
