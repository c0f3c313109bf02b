"""What a person reports: what fails, where, with what message, and what came of it."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import START, tool
from tests.extraction.structural.shop_group import ShopGroup
from turnetl.base.model import SessionId, ToolCall
from turnetl.extraction.structural.failures import pasted_failures

ESLINT = """eslint complains:

/home/dev/shop/src/cart.ts
  3:5  error  'total' is assigned a value but never used  no-unused-vars

✖ 1 problem (1 error, 0 warnings)"""
MOVED = "error[E0382]: borrow of moved value: 'cart'"
RUST = """the build is broken:
error[E0382]: borrow of moved value: `cart`
  --> src/cart.rs:14:9
   |
12 |     let other = cart;
   |                 ---- value moved here
note: consider cloning"""
CLANG = """cart.c:12:5: error: use of undeclared identifier 'total'
    total = 3;
    ^
cart.c:3:5: note: did you mean 'totals'?"""
NODE = """When I run `npm start` it prints

TypeError: Cannot read properties of undefined (reading 'price')
    at total (/home/dev/shop/src/cart.js:12:17)"""
GO_LINT = """Error: cart/cart.go:12:3: `f.Close` is not checked (errcheck)
	f.Close()
	^
1 issues:
* errcheck: 1"""
KEY_ERROR = "FAILED tests/test_cart.py::test_total - KeyError: 'price'"
FIXED = "Fixed: the total reads the new price now."


def run(command: str, output: str = "", *, is_error: bool = False) -> ToolCall:
    return tool("Bash", command, output, is_error=is_error)


def passed(command: str = "pytest -q", output: str = "3 passed") -> ToolCall:
    return run(command, output)


def edit(file: str = "src/cart.py", outline: str = "") -> ToolCall:
    return tool("Edit", f"/home/dev/shop/{file} :: - 0 + 1{outline}", "updated")


def at(minute: int, *calls: ToolCall) -> tuple[ToolCall, ...]:
    return tuple(
        replace(call, ended_at=START + timedelta(minutes=minute + place))
        for place, call in enumerate(calls)
    )


async def ended(prompt: str, *calls: ToolCall, said: str = "") -> tuple[str, list[str]]:
    """Return what came of the one problem that a turn reports, and what fixed it."""
    shop = ShopGroup()
    await shop.ingest(user_text=prompt, assistant_text=said, tool_calls=at(0, *calls))
    return outcome(shop)


def outcome(shop: ShopGroup) -> tuple[str, list[str]]:
    [report] = shop.facts("REPORTED")
    resolution = str(report.attributes.get("resolution", "unresolved"))
    assert (report.invalid_at is None) == (resolution in {"unresolved", "edited", "answered"})
    fixes = [fact for fact in shop.facts("FIXED_BY") if fact.source == report.target]
    return resolution, [shop.name_of(fact.target) for fact in fixes]


def test_an_output_in_a_prompt_names_what_failed_where_and_why(
    subtests: pytest.Subtests,
) -> None:
    for prompt, *expected in [
        (f"I get {KEY_ERROR}", "test_total", "tests/test_cart.py", "KeyError: 'price'"),
        (
            "make test gives --- FAIL: TestCart (0.01s)\n    cart_test.go:12: want 3, got 4",
            *("TestCart", "cart_test.go", "want 3, got 4"),
        ),
        (
            f"lint fails:\n```\n{GO_LINT}\n```",
            *("errcheck in cart/cart.go", "cart/cart.go", "'f.Close' is not checked"),
        ),
        (
            "CI is red: `errcheck in cart/cart.go`: the result of `f.Close` is not checked",
            *("errcheck in cart/cart.go", "cart/cart.go"),
            "the result of 'f.Close' is not checked",
        ),
        (
            "`make lint` says `cart.go:8:2: exported func Total has no comment (revive)`",
            *("revive in cart.go", "cart.go", "exported func Total has no comment"),
        ),
        ("SC2086 in run.sh: quote it", "SC2086 in run.sh", "run.sh", "quote it"),
        (
            ESLINT,
            *("no-unused-vars in …/cart.ts", "/home/dev/shop/src/cart.ts"),
            "'total' is assigned a value but never used",
        ),
        (RUST, MOVED, "src/cart.rs", ""),
        (CLANG, "use of undeclared identifier 'total'", "cart.c", ""),
        ("> a.ts(3,5): error TS2304: No name 'x'.", "TS2304: No name 'x'", "a.ts", ""),
        (
            NODE,
            "TypeError: Cannot read properties of undefined (reading 'price')",
            *("/home/dev/shop/src/cart.js", ""),
        ),
        (
            "we get DeprecationWarning: `Cart.sum` is deprecated",
            *("DeprecationWarning: 'Cart.sum' is deprecated", "", ""),
        ),
        ("I get this:\n  ValueError: no price for 12\nwhy?", "ValueError: no price for 12", "", ""),
    ]:
        with subtests.test(prompt=prompt):
            [found] = pasted_failures(prompt, is_report=False)
            assert [found.name, found.location, found.message] == expected


def test_a_prompt_without_an_output_quotes_no_failure(subtests: pytest.Subtests) -> None:
    for prompt in [
        "see src/cart.py:12 for the total",
        "add a test in tests/test_cart.py for an empty cart",
        "- use the well-known port in deploy.sh, and 8080 on the server",
        "error handling in cart.go is next",
        "raise a ValueError if the price is missing",
    ]:
        with subtests.test(prompt=prompt):
            assert pasted_failures(prompt, is_report=False) == []


async def test_a_report_is_told_with_its_place_and_its_message(subtests: pytest.Subtests) -> None:
    for prompt, text in [
        (
            f"Please look: {KEY_ERROR}",
            "`test_total` in `tests/test_cart.py` failed with `KeyError: 'price'`",
        ),
        (
            "lint fails with: cart.go:8:2: assignment to err is lost (ineffassign)",
            "`ineffassign in cart.go`: assignment to err is lost (“lint fails”)",
        ),
        (RUST, f"`{MOVED}` in `src/cart.rs` (“the build is broken”)"),
        ("The page is broken after login.", "The page is broken after login."),
    ]:  # fmt: skip
        with subtests.test(prompt=prompt):
            shop = ShopGroup()
            await shop.ingest(user_text=prompt)
            assert shop.texts("REPORTED") == [f"The user reported: {text}"]


async def test_a_reported_problem_ends_when_the_same_thing_passes(
    subtests: pytest.Subtests,
) -> None:
    go_lint = "lint fails with: cart/cart.go:8:2: assignment to err is lost (ineffassign)"
    lint, changed = passed("make lint", "0 issues."), edit("cart/cart.go")
    red = run("make test-e2e", "--- FAIL: TestE2E (0.1s)\nFAIL\tshop\t1s", is_error=True)
    green = passed("gh pr checks 7", "lint\tpass\t1m\thttps://a")
    trace = "When I run `npm start` I get TypeError: no price"
    for name, prompt, calls, expected in [
        ("the rule", go_lint, (changed, lint), ("fixed", ["cart/cart.go"])),
        ("its folder", go_lint, (changed, passed("golangci-lint run ./cart/...", "0 issues.")),
         ("fixed", ["cart/cart.go"])),
        ("another folder", go_lint, (changed, passed("golangci-lint run ./tax/...", "0 issues.")),
         ("unresolved", [])),
        ("another check", go_lint, (changed, passed("make test", "ok  \tshop\t1s")),
         ("unresolved", [])),
        ("no change", "the lint looks broken", (lint,), ("passed_on_rerun", [])),
        ("the test", KEY_ERROR, (edit(), passed()), ("fixed", ["src/cart.py"])),
        ("the test by name", KEY_ERROR, (edit(), passed("pytest -k test_total")),
         ("fixed", ["src/cart.py"])),
        ("another test", KEY_ERROR, (edit(), passed("pytest -k test_tax")), ("unresolved", [])),
        ("a test that is named", "CI fails because `TestCart` times out",
         (changed, passed("go test -run TestCart ./cart", "ok  \tshop/cart\t1s")),
         ("fixed", ["cart/cart.go"])),
        ("all tests", "tests are failing", (edit(), passed()), ("fixed", ["src/cart.py"])),
        ("the edited folder", "tests are failing",
         (changed, passed("go test ./cart/...", "ok  \tshop/cart\t1s")),
         ("fixed", ["cart/cart.go"])),
        ("a folder without an edit", "tests are failing",
         (changed, passed("go test ./tax/...", "ok  \tshop/tax\t1s")), ("unresolved", [])),
        ("some tests", "tests are failing", (edit(), passed("pytest -k tax")), ("unresolved", [])),
        ("other tests that failed", "tests are failing", (passed(), red, edit(), passed()),
         ("unresolved", [])),
        ("the tests that failed", "tests are failing",
         (passed(), red, edit(), passed("make test-e2e", "ok  \tshop\t1s")), ("fixed", [])),
        ("the command", trace, (edit("src/cart.js"), passed("npm start", "listening")),
         ("fixed", ["src/cart.js"])),
        ("CI after a push", "CI is red", (passed("git push", "done"), green), ("fixed", [])),
        ("CI without one", "CI is red", (green,), ("passed_on_rerun", [])),
        ("a test before the edit", "the page is broken for the test user",
         (passed(), edit()), ("unresolved", [])),
        ("a test of something else", "the page is broken for the test user",
         (edit(), passed()), ("edited", [])),
        ("a test user", "the test user of the shop gets an error", (edit(), passed()),
         ("edited", [])),
        ("by the person", "we had a lint error, I've fixed it - commit please", (),
         ("fixed", [])),
    ]:  # fmt: skip
        with subtests.test(name):
            assert await ended(prompt, *calls) == expected


async def test_what_is_only_edited_is_told_as_that(subtests: pytest.Subtests) -> None:
    page = "The page is broken after login."
    part = " ‖ ~total · return 0 ⇒ return 1"
    for name, prompt, calls, said, expected in [
        ("the end says so", page, (edit(),), FIXED, ("edited", ["src/cart.py"])),
        ("it does not", page, (edit(),), "The page has two forms.", ("unresolved", [])),
        ("it says that it is not", page, (edit(),), "It is still broken, now with a log.",
         ("unresolved", [])),
        ("it only asks", page, (edit(),), "Do you want me to fix the form? It renders now.",
         ("unresolved", [])),
        ("nothing is edited", page, (), FIXED, ("unresolved", [])),
        ("only a document", page, (edit("README.md"),), FIXED, ("unresolved", [])),
        ("several files", page, (edit("a.py"), edit("b.py")), FIXED, ("edited", [])),
        ("the named function", "the `total` of the cart is wrong",
         (edit("a.py"), edit("b.py", part)), FIXED, ("edited", ["total"])),
        ("a run that still fails", KEY_ERROR, (edit(), run("pytest", KEY_ERROR, is_error=True)),
         FIXED, ("unresolved", [])),
    ]:  # fmt: skip
        with subtests.test(name):
            assert await ended(prompt, *calls, said=said) == expected


async def test_a_question_why_is_answered_only_by_a_reason(subtests: pytest.Subtests) -> None:
    why = "Why is the export of March empty?"
    reason = "The export is empty because the filter compares the month with a text."
    for name, said, calls, expected in [
        ("a reason", reason, (), "answered"),
        ("no reason", "I'll look into the export code first, then into the tests of it.", (),
         "unresolved"),
        ("it is not known", "I don't know why it fails; the cause may be the filter.", (),
         "unresolved"),
        ("a question back", f"{reason} Should I change the filter?", (), "unresolved"),
        ("an error of the client", "API Error: 529, because the service is overloaded now", (),
         "unresolved"),
        ("a change", reason, (edit(),), "unresolved"),
    ]:  # fmt: skip
        with subtests.test(name):
            assert await ended(why, *calls, said=said) == (expected, [])


async def test_a_later_turn_ends_what_was_reported(subtests: pytest.Subtests) -> None:
    place = "`total` of the cart is wrong, it fails with KeyError: 'price'"
    part = " ‖ ~total · return 0 ⇒ return 1"
    for name, prompt, calls, session, expected in [
        ("of its session", KEY_ERROR, (edit(), passed()), "s1", ("fixed", ["src/cart.py"])),
        ("of its branch", KEY_ERROR, (edit(), passed()), "s2", ("fixed", ["src/cart.py"])),
        ("in the background", KEY_ERROR,
         (edit(), passed(output="Command running in background with ID: b1")), "s2",
         ("unresolved", [])),
        ("an edit of its place", place, (edit("src/cart.py", part),), "s1", ("edited", ["total"])),
        ("an edit of another problem", "the lint looks broken",
         (edit("src/tax.py"), passed("make lint", "0 issues.")), "s1", ("fixed", [])),
        ("an edit elsewhere", place, (edit("src/tax.py"),), "s1", ("unresolved", [])),
    ]:  # fmt: skip
        with subtests.test(name):
            shop = ShopGroup()
            branch = "ann/fix"
            await shop.ingest("a", user_text=prompt, git_branch=branch)
            shop.turns = [] if session != "s1" else shop.turns
            await shop.ingest(
                "b",
                session_id=SessionId(session),
                started_at=START + timedelta(minutes=5),
                git_branch=branch,
                assistant_text=FIXED,
                tool_calls=at(6, *calls),
            )
            assert outcome(shop) == expected


async def test_a_stated_cause_is_a_place_of_the_report() -> None:
    shop = ShopGroup()
    code = tool("Read", "/home/dev/shop/src/cart.py", "def price_of(cart): ...")
    said = "Root cause: `price_of` returns no row of the cart."
    await shop.ingest(
        "a", user_text="it stops with KeyError: 'price'", assistant_text=said, tool_calls=(code,)
    )
    [cause] = shop.facts("CAUSED_BY")
    assert shop.name_of(cause.target) == "price_of"
    changed = edit("src/cart.py", " ‖ ~price_of · return 0 ⇒ return 1")
    await shop.ingest(
        "b",
        started_at=START + timedelta(minutes=5),
        assistant_text=FIXED,
        tool_calls=at(6, changed),
    )
    assert outcome(shop) == ("edited", ["price_of"])


async def test_a_run_that_passes_later_confirms_the_edit_of_a_report() -> None:
    shop = ShopGroup()
    prompt, later = "The tests of the cart are failing.", START + timedelta(minutes=5)
    await shop.ingest("a", user_text=prompt, assistant_text=FIXED, tool_calls=at(0, edit()))
    assert outcome(shop) == ("edited", ["src/cart.py"])
    calls = at(6, edit("web/page.ts"), passed("pytest src/"))
    await shop.ingest("b", started_at=later, tool_calls=calls)
    assert outcome(shop) == ("fixed", ["src/cart.py", "src/cart.py"])
