"""What a turn did to files: facts of the edit itself, about definitions that it names."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import START, tool
from tests.extraction.structural.shop_group import NOW, ShopGroup
from turnetl.base.edit_outline import CHANGED, EditedPart
from turnetl.base.model import ToolCall
from turnetl.extraction.structural import edit_sentences

CART = "/home/dev/shop/src/cart.py"


def edit(*changes: str, path: str = CART, summary: str = "- a + b") -> ToolCall:
    return tool("Edit", f"{path} :: {summary}" + "".join(f" ‖ {change}" for change in changes))


def later(call: ToolCall, minutes: int = 5) -> ToolCall:
    return replace(call, ended_at=START + timedelta(minutes=minutes))


async def test_one_sentence_of_the_edit_says_what_changed(subtests: pytest.Subtests) -> None:
    cases = {
        "~total · return round(x) ⇒ return cents(x)": (
            "CHANGED",
            "`src/cart.py`: in `total`, `return round(x)` became `return cents(x)`",
        ),
        "~total · -round +cents # Round only whole sums": (
            "CHANGED",
            "`src/cart.py`: `total` now calls `cents` in place of `round`: Round only whole sums",
        ),
        "~total · -check": ("CHANGED", "`src/cart.py`: `total` no longer calls `check`"),
        "+Cart · A cart of one customer": (
            "ADDED",
            "`src/cart.py`: `Cart` was added: A cart of one customer",
        ),
        "-Basket": ("DELETED", "`src/cart.py`: `Basket` was removed"),
        ">sum · total": ("RENAMED", "`src/cart.py`: `sum` was renamed to `total`"),
        "^httpx": ("DEPENDS_ON", "`src/cart.py` imports `httpx`"),
    }
    for change, (relation, text) in cases.items():
        with subtests.test(change=change):
            group = ShopGroup()
            await group.ingest(tool_calls=(edit(change),))
            assert group.texts(relation) == [text]


async def test_a_folder_of_the_project_is_no_package(shop: ShopGroup) -> None:
    path = "/home/dev/shop/internal/cart/cart.go"
    own = edit("^example.com/shop/internal/cart/money", path=path)
    await shop.ingest(tool_calls=(own, edit("^github.com/google/uuid", path=path)))
    assert shop.names("Package") == ["github.com/google/uuid"]


async def test_a_setting_is_named_with_both_values(shop: ShopGroup) -> None:
    change = "~retry.limit · limit = 3 ⇒ limit = 5"
    await shop.ingest(tool_calls=(edit(change, path="shop.toml"),))
    assert shop.texts("CHANGED") == ["`shop.toml`: `retry.limit` changed from `3` to `5`"]
    assert shop.names("Setting") == ["retry.limit"]


async def test_all_edits_of_a_definition_in_a_turn_are_one_fact(shop: ShopGroup) -> None:
    calls = (
        edit("~total · x = 1 ⇒ x = 2"),
        edit("~total · x = 2 ⇒ x = 3"),
        edit("+Cart · A cart of one customer"),
        edit("~Cart · +check"),
    )
    await shop.ingest(tool_calls=calls)
    assert shop.texts("CHANGED") == ["`src/cart.py`: `x` in `total` changed from `1` to `3`"]
    assert len(shop.texts("ADDED")) == 1


async def test_what_a_turn_takes_back_it_did_not_do(shop: ShopGroup) -> None:
    calls = (
        edit("~total · x = 1 ⇒ x = 2"),
        edit("~total · x = 2 ⇒ x = 1"),
        edit("+Cart"),
        edit("-Cart"),
        replace(edit("+Basket"), is_error=True),
    )
    await shop.ingest(tool_calls=calls)
    assert shop.names("Symbol") == []


async def test_what_is_restored_in_the_turn_was_not_changed(shop: ShopGroup) -> None:
    calls = (
        edit("~total · x = 1 ⇒ x = 2"),
        edit("+Tax", path="/home/dev/shop/src/tax.py"),
        tool("Bash", "git checkout -- src/cart.py && git restore --staged src/tax.py"),
    )
    await shop.ingest(tool_calls=calls)
    assert shop.texts("CHANGED") == []
    assert shop.texts("ADDED") == ["`src/tax.py`: `Tax` was added"]


async def test_an_edit_of_unknown_content_is_no_fact_but_its_file_is_known(shop: ShopGroup) -> None:
    silent = tool("Edit", "/home/dev/shop/src/prices.csv")
    await shop.ingest("a", user_text="Go on with the prices", tool_calls=(silent,))
    assert shop.texts("CHANGED") == []
    [file] = [one for one in shop.group.entities if one.name == "src/prices.csv"]
    assert file.summary == ""
    await shop.ingest("b", tool_calls=(silent, edit("~total · x = 1 ⇒ x = 2")))
    assert len(shop.texts("CHANGED")) == 1


@pytest.mark.parametrize(
    "call",
    [
        edit("~total · x = 1  # old ⇒ x = 1  # new"),
        edit("~total · if  x: ⇒ if x:"),
        edit("~total · const price = load(); ⇒ const found = load();"),
        edit("~total · say('the price is recieved late') ⇒ say('the price is received late')"),
        edit(
            '~dependencies.left-pad · "left-pad": "1.2.3", ⇒ "left-pad": "1.3.0",',
            path="package.json",
        ),
        edit("~total · x = 1 ⇒ x = 2", path="tests/fixtures/cart.py"),
        edit("~total · x = 1 ⇒ x = 2", path="src/orders_pb2.py"),
        edit("~total · x = 1 ⇒ x = 2", path="scratch/try.py"),
        edit("~Fees · the fee is aded later ⇒ the fee is added later", path="docs/prices.md"),
        tool("Write", "notes.txt :: + hello there"),
        replace(
            edit("~total · x = 1 ⇒ x = 2"),
            result="The user doesn't want to proceed with this tool use.",
        ),
    ],
    ids=lambda call: call.input[:60] if isinstance(call, ToolCall) else str(call),
)
async def test_a_slight_or_rejected_edit_is_no_fact(call: ToolCall, shop: ShopGroup) -> None:
    await shop.ingest(tool_calls=(call,))
    assert [fact.text for fact in shop.group.facts] == []


async def test_a_lint_mark_is_told_and_a_name_only_if_it_fixes(shop: ShopGroup) -> None:
    lines = {
        "load": "~load · x = open(p) ⇒ x = open(p)  # noqa: PTH123",
        "total": "~total · s, _ := read() ⇒ s, err := read()",
    }
    await shop.ingest(tool_calls=tuple(edit(line) for line in lines.values()))
    [told] = shop.texts("CHANGED")
    assert "`load`" in told
    kept = EditedPart(CHANGED, "total", lines["total"].partition(" · ")[2])
    assert edit_sentences.phrase(kept) == "in `total`, `s, _ := read()` became `s, err := read()`"


@pytest.mark.parametrize(
    ("details", "told"),
    [
        (
            [" ⇒ if n > 0", "if n > 0 ⇒ ", " ⇒ return n"],
            "`total` now returns `n`",
        ),
        ([" ⇒ if n > 0", "if n > 0 and m ⇒ "], "`total` no longer checks `n > 0 and m`"),
        (
            [" ⇒ return a", " ⇒ return b", ' ⇒ raise Empty("no price")'],
            '`total` now raises `Empty("no price")`, and now returns `a`',
        ),
    ],
)
def test_of_several_lines_those_are_told_that_are_new_and_say_most(
    details: list[str], told: str
) -> None:
    assert edit_sentences.sentence("total", details) == told


async def test_a_major_version_of_a_package_is_told_with_both_values(shop: ShopGroup) -> None:
    line = '~dependencies.react · "react": "^18.2.0", ⇒ "react": "^19.0.1",'
    await shop.ingest(tool_calls=(edit(line, path="package.json"),))
    assert shop.texts("DEPENDS_ON") == ["`package.json`: `react` went from `18.2.0` to `19.0.1`"]


async def test_an_edit_that_takes_lines_back_ends_their_change_and_its_decision(
    shop: ShopGroup,
) -> None:
    said = "`total` now always rounds down instead of up. `load` now always reads the cache."
    first = (edit("~total · round(x) ⇒ floor(x)"), edit("~load · read() ⇒ cached()"))
    await shop.ingest("a", assistant_text=said, tool_calls=first)
    assert len(shop.facts("DECIDED")) == 2
    after = START + timedelta(days=1)
    back = (
        edit("~total · floor(x) ⇒ round(x)"),
        edit("~load · cached() ⇒ disk()"),
    )
    calls = [replace(call, ended_at=after) for call in back]
    await shop.ingest("b", started_at=after, tool_calls=tuple(calls))
    ended = [one.text for one in shop.group.facts if one.invalid_at == after]
    assert sorted(ended) == [
        "The agent decided: `total` now always rounds down instead of up.",
        "`src/cart.py`: in `load`, `read()` became `cached()`",
        "`src/cart.py`: in `total`, `round(x)` became `floor(x)`",
    ]


async def test_a_removal_and_a_new_value_end_what_no_longer_holds(shop: ShopGroup) -> None:
    await shop.ingest("a", tool_calls=(edit("+Cart"), edit("~total · x = 1 ⇒ x = 2")))
    after = START + timedelta(days=1)
    calls = [edit("-Cart"), edit("~total · x = 2 ⇒ x = 1")]
    calls = [replace(call, ended_at=after) for call in calls]
    await shop.ingest("b", started_at=after, tool_calls=tuple(calls))
    [added] = shop.facts("ADDED")
    assert (added.invalid_at, added.expired_at) == (after, NOW)
    assert [fact.invalid_at for fact in shop.facts("CHANGED")] == [after, None]
    assert [fact.invalid_at for fact in shop.facts("DELETED")] == [None]


async def test_git_ends_the_facts_about_edits_that_it_takes_back(
    subtests: pytest.Subtests,
) -> None:
    committed = tool("Bash", "git commit -am 'Add tax'", "[main 1a2b3c4] Add tax")
    value = edit("~total · x = 1 ⇒ x = 2")
    other = edit("~load · y = 1 ⇒ y = 2", path="/home/dev/shop/src/store.py")
    for command, calls, ended in [
        ("git checkout -- src/cart.py", (value, other), ["src/cart.py"]),
        ("git restore .", (value, other), ["src/cart.py", "src/store.py"]),
        ("git reset --hard", (value, committed, other), ["src/store.py"]),
        ("git reset --hard HEAD~1", (value, committed, other), ["src/cart.py", "src/store.py"]),
        ("git revert --no-edit 1a2b3c4d", (value, committed, other), ["src/cart.py"]),
        ("git revert HEAD", (value, committed), ["src/cart.py"]),
        ("git restore --staged src/cart.py", (value,), []),
        ("git checkout -b tax", (value,), []),
    ]:
        with subtests.test(command=command):
            shop, after = ShopGroup(), START + timedelta(hours=1)
            await shop.ingest("a", tool_calls=calls)
            undo = replace(tool("Bash", command, "done"), ended_at=after)
            await shop.ingest("b", started_at=after, tool_calls=(undo,))
            facts = [fact for fact in shop.facts("CHANGED") if fact.invalid_at]
            assert sorted(shop.name_of(fact.source) for fact in facts) == ended
            assert {fact.invalid_at for fact in facts} <= {after}


async def test_a_reset_takes_back_only_what_its_turn_did_not_commit(shop: ShopGroup) -> None:
    calls = (
        edit("~total · x = 1 ⇒ x = 2"),
        tool("Bash", "git commit -am 'Add tax'", "[main 1a2b3c4] Add tax"),
        edit("~load · y = 1 ⇒ y = 2", path="/home/dev/shop/src/store.py"),
        tool("Bash", "git reset --hard", "HEAD is now at 1a2b3c4"),
    )
    await shop.ingest(tool_calls=calls)
    assert shop.texts("CHANGED") == ["`src/cart.py`: `x` in `total` changed from `1` to `2`"]


async def test_what_several_calls_did_together_is_told_in_place_of_each(shop: ShopGroup) -> None:
    calls = (
        edit("~total · x = 1 ⇒ x = 2"),
        edit("~load · +check", "=2 /home/dev/shop/src/cart.py", "~load · +check"),
    )
    await shop.ingest(tool_calls=calls)
    assert shop.texts("CHANGED") == ["`src/cart.py`: `load` now calls `check`"]


async def test_parameters_conditions_and_handlers_are_told_as_such(
    subtests: pytest.Subtests,
) -> None:
    cases = {
        " ⇒ (rate=1": "`total` has the new parameter `rate=1`",
        "(rate=1 ⇒ (rate=2": "`total` takes `rate=2` in place of `rate=1`",
        "(rate ⇒ ": "`total` no longer takes `rate`",
        "-> str ⇒ -> int": "`total` returns `int` in place of `str`",
        " ⇒ if not path: raise ValueError(path)": (
            "`total` now raises `ValueError(path)` if `not path`"
        ),
        "if (a > b) ⇒ ": "`total` no longer checks `a > b`",
        " ⇒ except KeyError as error": "`total` now handles `KeyError`",
        " ⇒ return None": "`total` now returns `None`",
    }
    for detail, told in cases.items():
        with subtests.test(detail=detail):
            group = ShopGroup()
            await group.ingest(tool_calls=(edit(f"~total · {detail}"),))
            assert group.texts("CHANGED") == [f"`src/cart.py`: {told}"]


async def test_comments_layout_and_versions_alone_are_no_fact(shop: ShopGroup) -> None:
    calls = (
        edit("~total · # x = 1  # Old ⇒ x = 1  # New", "~load"),
        edit('~project.version · version = "1" ⇒ version = "2"', path="pyproject.toml"),
    )
    await shop.ingest(tool_calls=calls)
    assert shop.texts("CHANGED") == []


async def test_the_end_does_not_depend_on_the_order_in_which_turns_arrive(shop: ShopGroup) -> None:
    after = START + timedelta(days=1)
    removal = replace(edit("-Cart"), ended_at=after)
    await shop.ingest("b", started_at=after, tool_calls=(removal,))
    await shop.ingest("a", tool_calls=(edit("+Cart"),))
    [added] = shop.facts("ADDED")
    assert added.invalid_at == after


async def test_a_new_file_is_one_fact_with_what_it_holds(shop: ShopGroup) -> None:
    call = tool("Write", f"{CART} :: + x ‖ + · Carts of customers ‖ +Cart ‖ +total · The sum")
    await shop.ingest(tool_calls=(call, edit("~total · +check")))
    assert shop.texts("ADDED") == [
        "`src/cart.py` was added: Carts of customers (with `Cart` and `total`)"
    ]
    assert shop.texts("CHANGED") == []


async def test_a_document_is_one_fact_about_its_sections(shop: ShopGroup) -> None:
    call = edit("+Fees", "-Old prices", "~Taxes", path="docs/prices.md")
    await shop.ingest(tool_calls=(call,))
    assert shop.texts("CHANGED") == ["`docs/prices.md`: “Fees” was added; “Old prices” was removed"]


async def test_a_document_tells_what_its_sections_say_now(subtests: pytest.Subtests) -> None:
    cases = {
        ("+Fees · Every order has a fee",): "“Fees” was added: Every order has a fee",
        (
            "~Taxes ·  ⇒ - **Taxes** are part of each price",
            "~Taxes ·  ⇒ x = rate(price, tax, day)",
        ): ("“Taxes” now says “Taxes are part of each price”"),
        ("~Taxes · Limit is 3 ⇒ Limit is 5",): "in “Taxes”, `Limit is 3` became `Limit is 5`",
    }
    for changes, text in cases.items():
        with subtests.test(text):
            group = ShopGroup()
            await group.ingest(tool_calls=(edit(*changes, path="docs/prices.md"),))
            assert group.texts("CHANGED") == [f"`docs/prices.md`: {text}"]


async def test_each_edited_file_has_a_fact_and_a_generated_one_has_none(shop: ShopGroup) -> None:
    files = [f"src/page_{number}.py" for number in range(12)]
    calls = [edit(f"~show_{at} · +load", path=file) for at, file in enumerate(files)]
    await shop.ingest(tool_calls=(*calls, edit(path="package-lock.json"), edit(path="logo.svg")))
    assert {shop.name_of(fact.source) for fact in shop.facts("CHANGED")} == set(files)


async def test_many_definitions_that_changed_alike_are_told_once(shop: ShopGroup) -> None:
    changes = [f"~show_{number} · -old +new" for number in range(9)]
    await shop.ingest(tool_calls=(edit(*changes),))
    [text] = shop.texts("CHANGED")
    assert text.endswith("`show_1`, `show_2`, `show_3`, `show_4` and 4 more")


async def test_without_the_archive_the_agents_own_sentence_is_told(shop: ShopGroup) -> None:
    await shop.ingest(
        assistant_text="Let me look.\n\nTotals in `cart.py` now include the tax of the country.",
        tool_calls=(edit(summary="- a + b + c"),),
    )
    assert shop.texts("CHANGED") == [
        "`src/cart.py`: Totals in `cart.py` now include the tax of the country"
    ]


async def test_shell_commands_move_remove_and_edit_files(shop: ShopGroup) -> None:
    lines = [
        "cd src && git mv cart.py basket.py",
        "rm -f old.py 'docs/notes.md'",
        "sed -i 's/limit = 3/limit = 5/' shop.cfg",
        "git rm --cached secrets.txt; rm *.log; mv $A b.py",
    ]
    await shop.ingest(tool_calls=tuple(tool("Bash", line, "done") for line in lines))
    assert shop.texts("RENAMED") == ["`src/cart.py` was moved to `src/basket.py`"]
    assert shop.texts("DELETED") == ["`old.py` was removed", "`docs/notes.md` was removed"]
    assert shop.texts("CHANGED") == ["`shop.cfg`: `limit = 3` became `limit = 5`"]


async def test_manifests_and_install_commands_say_what_a_project_depends_on(
    shop: ShopGroup,
) -> None:
    calls = (
        edit(path="pyproject.toml", summary='- x + "polars>=1.2",'),
        edit('+dependencies.zod · ⇒ "zod": "^3",', "-dependencies.yup", path="package.json"),
        tool("Bash", "uv add 'httpx>=0.28' -r more.txt"),
        tool("Bash", "npm install --save-dev @types/node@20 ."),
        tool("Bash", "npm install -g serve; pip install black; brew install jq"),
        replace(tool("Bash", "uv add htpx", "No matching distribution"), is_error=True),
    )
    await shop.ingest(tool_calls=calls)
    assert shop.names("Package") == ["@types/node", "httpx", "polars", "zod"]
    assert "`pyproject.toml` depends on `httpx` (`uv add 'httpx>=0.28' -r more.txt`)" in (
        shop.texts("DEPENDS_ON")
    )
    assert shop.texts("DELETED") == ["`package.json` no longer depends on `yup`"]


async def test_a_commit_names_its_files_and_its_ticket(shop: ShopGroup) -> None:
    message = "\"$(cat <<'EOF'\nSHOP-7 Add tax to totals\n\nMore words\nEOF\n)\""
    printed = "[main 1a2b3c4] SHOP-7 Add tax to totals\n 1 file changed"
    await shop.ingest("a", tool_calls=(edit("~total · +tax"),))
    await shop.ingest("b", tool_calls=(tool("Bash", f"git commit -m {message}", printed),))
    text = "Commit `1a2b3c4`: SHOP-7 Add tax to totals"
    assert shop.texts("COMMITTED") == [text, text]
    targets = {shop.name_of(fact.target) for fact in shop.facts("COMMITTED")}
    assert targets == {"SHOP-7", "src/cart.py"}
    assert shop.names("Commit") == ["1a2b3c4"]


@pytest.mark.parametrize(
    ("command", "printed", "held"),
    [
        ("git commit --amend --no-edit", "[main 9f8e7d6] Add tax", {"9f8e7d6"}),
        ("git commit --amend -m 'Add all taxes'", "[main 9f8e7d6] Add all taxes", {"9f8e7d6"}),
        ("git reset --soft HEAD~1", "", set[str]()),
        ("git reset HEAD^", "", set[str]()),
        ("git commit -m 'Add fees'", "[main 9f8e7d6] Add fees", {"1a2b3c4", "9f8e7d6"}),
    ],
)
@pytest.mark.parametrize("in_one_turn", [False, True])
async def test_a_commit_that_is_amended_or_reset_no_longer_holds(
    command: str, printed: str, held: set[str], in_one_turn: bool, shop: ShopGroup
) -> None:
    first = tool("Bash", "git commit -am 'Add tax'", "[main 1a2b3c4] Add tax")
    second, at = tool("Bash", command, printed), START + timedelta(hours=1)
    calls = (edit("~total · +tax"), first)
    if in_one_turn:
        await shop.ingest("a", tool_calls=(*calls, edit("~total · +fee"), second))
    else:
        await shop.ingest("a", tool_calls=calls)
        again = (edit("~total · +fee"), replace(second, ended_at=at))
        await shop.ingest("b", started_at=at, tool_calls=again)
    facts = [fact for fact in shop.facts("COMMITTED") if not fact.invalid_at]
    assert {shop.name_of(fact.source) for fact in facts} == held


async def test_an_edit_of_several_lines_that_is_taken_back_no_longer_holds(
    shop: ShopGroup,
) -> None:
    at = START + timedelta(hours=1)
    await shop.ingest("a", tool_calls=(edit("~total · x = 1 ⇒ x = 2", "~total · y = 1 ⇒ y = 2"),))
    back = later(edit("~total · y = 2 ⇒ y = 1", "~total · x = 2 ⇒ x = 1"), minutes=60)
    await shop.ingest("b", started_at=at, tool_calls=(back,))
    assert [fact.invalid_at for fact in shop.facts("CHANGED")] == [at, None]


async def test_a_commit_without_a_message_that_says_something_is_no_fact(shop: ShopGroup) -> None:
    calls = (edit("~total · +tax"), tool("Bash", "git commit -am wip", "[main 1a2b3c4] wip"))
    await shop.ingest(tool_calls=calls)
    assert shop.texts("COMMITTED") == []


async def test_a_pull_request_names_its_branch(shop: ShopGroup) -> None:
    printed = "https://github.com/dev/shop/pull/12"
    call = tool("Bash", "gh pr create --title 'Add tax'", printed)
    await shop.ingest(git_branch="ann/tax", tool_calls=(call,))
    assert shop.texts("COMMITTED") == ["Pull request `dev/shop#12`: Add tax"]
    assert (shop.names("PR"), shop.names("Branch")) == (["dev/shop#12"], ["ann/tax"])
