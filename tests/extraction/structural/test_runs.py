"""What failed, and what resolved it."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import START, tool
from tests.extraction.structural.shop_group import NOW, ShopGroup
from turnetl.base.model import SessionId, ToolCall

KEY_ERROR = "FAILED tests/test_cart.py::test_total - KeyError: 'price'"
GO_FAILURE = "--- FAIL: TestCart (0.01s)\n    cart_test.go:12: want 3, got 4\nFAIL\tshop/cart\t0.1s"
LINT = "cart/cart.go:8:2: `f.Close` is not checked (errcheck)\n1 issues:"


TRACE = 'Traceback (most recent call last):\n  File "load.py", line 3\nKeyError: "price"'
EXIT_1 = "##[error]Process completed with exit code 1."


def ci_log(*lines: str) -> str:
    """Return a log of CI with a job, a step and a time before each line."""
    return "\n".join(f"test\tRun\t2026-01-02T03:04:05.6789012Z {line}" for line in lines)


def at(minute: int, call: ToolCall) -> ToolCall:
    return replace(call, ended_at=START + timedelta(minutes=minute))


def failed(command: str = "pytest -q", output: str = KEY_ERROR) -> ToolCall:
    return tool("Bash", command, output, is_error=True)


def passed(command: str = "pytest -q", output: str = "3 passed") -> ToolCall:
    return tool("Bash", command, output)


def edit(file: str = "src/cart.py") -> ToolCall:
    return tool("Edit", f"/home/dev/shop/{file} :: + price = 1", "updated")


def in_order(*calls: ToolCall) -> tuple[ToolCall, ...]:
    return tuple(at(minute, call) for minute, call in enumerate(calls))


async def resolution(*calls: ToolCall) -> tuple[str, list[str]]:
    """Return how the one failure of a turn ended, and what fixed it."""
    shop = ShopGroup()
    await shop.ingest(tool_calls=in_order(*calls))
    [failure] = shop.facts("FAILED_WITH")
    assert (failure.invalid_at is None) == ("resolution" not in failure.attributes)
    fixes = [shop.name_of(fact.target) for fact in shop.facts("FIXED_BY")]
    return str(failure.attributes.get("resolution", "unresolved")), fixes


async def test_a_failure_is_named_by_its_test_its_rule_and_file_or_its_message(
    subtests: pytest.Subtests,
) -> None:
    for call, text in [
        (
            failed(),
            "`test_total` in `tests/test_cart.py` failed with `KeyError: 'price'` (`pytest -q`)",
        ),
        (
            failed("go test ./...", GO_FAILURE),
            "`TestCart` in `cart_test.go` failed with `want 3, got 4` (`go test ./...`)",
        ),
        (
            failed("make lint", LINT),
            "`make lint` failed with `errcheck in cart/cart.go`: 'f.Close' is not checked",
        ),
        (
            passed("gh run view 7 --log-failed", ci_log("--- FAIL: TestTax")),
            "CI, as `gh run view 7 --log-failed` shows, failed in `TestTax`",
        ),
        (
            passed("gh run view 7 --log-failed", ci_log('npm error No such script: "web"', EXIT_1)),
            'CI, as `gh run view 7 --log-failed` shows, failed with `No such script: "web"`',
        ),
        (
            passed(
                "gh run view 7 --log", ci_log("fatal: no tags", "##[error]No space left on device")
            ),
            "CI, as `gh run view 7 --log` shows, failed with `No space left on device`",
        ),
        (failed("git push", "fatal: no upstream"), "`git push` failed with `fatal: no upstream`"),
        (
            tool("mcp__linear-server__get_issue", "{}", "no such issue", is_error=True),
            "`linear-server get_issue` failed with `no such issue`",
        ),
    ]:
        with subtests.test(text=text):
            shop = ShopGroup()
            await shop.ingest(tool_calls=(call,))
            assert shop.texts("FAILED_WITH") == [text]


async def test_what_a_run_that_passed_or_a_search_prints_is_no_failure(
    subtests: pytest.Subtests,
) -> None:
    rejection = "The user doesn't want to proceed with this tool use. error: no"
    for call in [
        passed("go test -v ./...", "Error: no remote\n--- PASS: TestRejectsErrors\nok  \tshop\t1s"),
        failed("go test ./...", "KeyError: 'price'\nFAIL\tshop/cart\t0.1s\nok  \tshop/tax\t0.1s"),
        passed("cat log.txt; git log", KEY_ERROR),
        passed("docker logs web", "Error: no price of the cart"),
        passed("npm run dev & sleep 3; cat log.txt", "Error: no price of the cart"),
        passed("gh issue create -b 'Error: no price'", "Error: no price"),
        passed("./push.sh", "error: retried\n1\n2\n3\n4\n5\npushed"),
        passed("gh run view 7 --log", ci_log("fatal: no tags", "1 step was skipped")),
        passed(
            "gh run view 7 --log", ci_log("fatal: no tags", "##[error]The operation was canceled.")
        ),
        failed("grep -rn raise src", "src/cart.py:3:    raise KeyError('price')"),
        tool("Grep", '{"pattern":"raise"}', "KeyError: 'price'"),
        passed("git push || echo 'error: failed'", "error: failed"),
        failed("git push", rejection),
        failed("pytest", "Command timed out after 2m\nKeyError: 'price'"),
    ]:
        with subtests.test(call=call):
            shop = ShopGroup()
            await shop.ingest(tool_calls=(call,))
            assert shop.texts("FAILED_WITH") == []


async def test_a_run_failed_if_its_output_or_its_log_says_so(subtests: pytest.Subtests) -> None:
    for command, output in [
        ("pytest -q", f"{KEY_ERROR}\n<exited with exit code 1>"),
        ("pytest -q", f'{{"output": "x", "exitCode": 1}}\n{KEY_ERROR}'),
        ("pytest -q", f"Command failed with exit code 2\n{KEY_ERROR}"),
        ("flake8", "src/cart.py:3:5: F841 local variable 'x' is never used"),
        ("gh pr checks 7", "test\tfail\t38s\thttps://example.org/1"),
        ("gh run view 7", "X test in 1m2s (ID 2)\nX Process completed with exit code 1."),
        (
            "git push 2>&1 | tail -2",
            " ! [rejected]  main -> main (fetch first)",
        ),
        ("docker compose up -d", " db Starting\nError response from daemon: port 5432 is in use"),
        ("python load.py | tee log", f"{TRACE}\n(Background on this error: see the log)"),
        (
            "npx tsx load.ts",
            "load.ts:3\n\nError: no price\n    at total (load.ts:3:7)\n    at load.ts:9",
        ),
        (
            "pnpm vitest run",
            " \u276f cart.test.ts\n FAIL  cart.test.ts > adds\n Tests  1 failed (1)",
        ),
        ("gh run view 7 --log-failed | grep rror", "##[error]a.go:1:2: undefined: total"),
    ]:
        with subtests.test(command=command, output=output):
            shop = ShopGroup()
            await shop.ingest(tool_calls=(passed(command, output),))
            assert len(shop.texts("FAILED_WITH")) == 1


async def test_what_failed_in_ci_is_resolved_where_it_passes_not_where_a_log_is_shown() -> None:
    log = passed("gh run view 7 --log-failed", "##[error]cart/cart.go:1:2: undefined: total")
    other = passed("gh run view 8 --json url", '{"url": "https://example.org"}')
    lint = passed("golangci-lint run ./...", "0 issues.")
    green = passed("gh run view 9", "\u2713 main CI \u00b7 9\n\u2713 lint in 20s (ID 1)")
    job = passed("gh pr checks", "lint\tfail\t1m2s\thttps://example.org/1")
    passing = failed("gh pr checks", "lint\tpass\t1m\thttps://a\ntest\tfail\t1m\thttps://b")
    changed = edit("cart/cart.go")
    assert await resolution(log, changed, other) == ("unresolved", [])
    assert await resolution(log, changed, lint) == ("unresolved", [])
    assert await resolution(log, changed, green) == ("fixed", ["cart/cart.go"])
    shop = ShopGroup()
    await shop.ingest(tool_calls=in_order(job, changed, passing))
    ended = {fact.text: fact.invalid_at is not None for fact in shop.facts("FAILED_WITH")}
    assert ended == {
        "CI, as `gh pr checks` shows, failed with `CI job lint failed`": True,
        "CI, as `gh pr checks` shows, failed with `CI job test failed`": False,
    }
    local = failed("make lint", LINT)
    assert await resolution(local, changed, green) == ("unresolved", [])
    fix, review = (tool("Task", f'{{"description": "{task}"}}', "The total is defined now.")
                   for task in ("Fix the undefined total", "Review the fix"))  # fmt: skip
    assert await resolution(log, passed("git push", "done"), green) == ("fixed", [])
    assert await resolution(log, fix, green) == ("fixed", [])
    await shop.ingest("told", tool_calls=in_order(log, fix, green))
    told = [fact.attributes.get("fix") for fact in shop.facts("FAILED_WITH")]
    assert told[-1] == "The total is defined now."
    assert await resolution(log, review, green) == ("passed_on_rerun", [])
    assert await resolution(local, passed("git push", "done"), lint) == ("unresolved", [])
    test = passed("gh run view 7 --log-failed", ci_log("--- FAIL: TestTax"))
    here = "go test -count=5 -run TestTax ./tax"
    assert await resolution(test, passed(here, "ok  \tshop/tax\t1s")) == ("passed_on_rerun", [])
    assert await resolution(test, passed("go test ./...", "ok  \tshop/tax\t1s")) == (
        "unresolved",
        [],
    )


async def test_what_passes_elsewhere_resolves_nothing(subtests: pytest.Subtests) -> None:
    for one, other, ending in [
        ("cd web && npm test", "cd api && npm test", "unresolved"),
        ("cd web && npm test", "cd /home/dev/shop/web && npm test", "fixed"),
        ("cd web && npm test", "npm test", "fixed"),
        ("cd web && cd ui && npm test", "cd ui && npm test", "fixed"),
        ("npm --prefix web test", "npm --prefix api test", "unresolved"),
        ("git -C web push", "git -C api push", "unresolved"),
        ("docker exec web pytest", "docker exec db psql", "unresolved"),
        ("pip install taxx", "pip install cart", "unresolved"),
        ("git push origin tax", "git push -u origin tax", "fixed"),
    ]:
        with subtests.test(one=one, other=other):
            run = failed(one, "error: no route to the server\n1 failed")
            assert (await resolution(run, edit(), passed(other)))[0] == ending


async def test_slips_of_the_agent_s_own_tools_are_no_failures(subtests: pytest.Subtests) -> None:
    for call in [
        tool(
            "Edit", "/home/dev/shop/a.py :: - a + b", "String to replace not found", is_error=True
        ),
        tool("Read", "/home/dev/shop/b.py", "File does not exist.", is_error=True),
        tool("Grep", '{"pattern":"x"}', "Path does not exist: src", is_error=True),
        tool("mcp__tickets__get", "{}", "InputValidationError: id is required", is_error=True),
        tool("mcp__tickets__get", "{}", "MCP error -32001: Request timed out", is_error=True),
        failed("ls src/nothing", "ls: src/nothing: No such file or directory"),
        failed("python3 -c 'import shop; shop.x'", "AttributeError: no x"),
        failed("pytest", "Exit code 143\nCommand timed out after 2m"),
    ]:
        with subtests.test(call=call):
            shop = ShopGroup()
            await shop.ingest(tool_calls=(call,))
            assert shop.texts("FAILED_WITH") == []


async def test_a_fix_says_what_the_edit_changed_of_the_file() -> None:
    shop = ShopGroup()
    change = tool("Edit", "/home/dev/shop/src/cart.py :: - 0 + 1 ‖ ~total · return 0 ⇒ return 1")
    await shop.ingest(assistant_text="Done.", tool_calls=in_order(failed(), change, passed()))
    [fix] = shop.texts("FIXED_BY")
    assert fix.endswith("`src/cart.py` was edited: in `total`, `return 0` became `return 1`")


async def test_what_resolved_a_failure_is_told_apart(subtests: pytest.Subtests) -> None:
    go_failed = failed("go test ./cart", GO_FAILURE)
    test_file = "cart/cart_test.go"
    for name, calls, expected in [
        ("an edit", (failed(), edit(), passed()), ("fixed", ["src/cart.py"])),
        ("no change", (failed(), passed()), ("passed_on_rerun", [])),
        ("a formatter", (failed(), passed("ruff format .", "1 file"), passed()), ("fixed", [])),
        (
            "only a commit",
            (failed(), passed("git commit -m 'Update the format'", "[main 1a2b3c4] x"), passed()),
            ("passed_on_rerun", []),
        ),
        ("only a document", (failed(), edit("README.md"), passed()), ("passed_on_rerun", [])),
        ("no run", (failed(), edit()), ("unresolved", [])),
        ("an edit before it", (edit(), failed(), passed()), ("passed_on_rerun", [])),
        (
            "the file of the stack before another",
            (
                go_failed,
                edit(test_file),
                edit("a.go"),
                passed("go test ./cart", "ok  \tshop/cart\t1s"),
            ),
            ("fixed", [test_file]),
        ),
        (
            "its package in another command",
            (go_failed, edit("a.go"), passed("make test", "ok  \tshop/cart\t1s")),
            ("fixed", ["a.go"]),
        ),
        (
            "another package",
            (go_failed, edit("a.go"), passed("make test", "ok  \tshop/tax\t1s")),
            ("unresolved", []),
        ),
        (
            "its name among other failures",
            (
                go_failed,
                edit("a.go"),
                failed("go test -v ./...", "--- PASS: TestCart\nFAIL\tshop\t1s"),
            ),
            ("fixed", ["a.go"]),
        ),
        (
            "another test",
            (go_failed, edit("a.go"), passed("go test ./cart -run TestTax", "ok  \tshop/cart\t1s")),
            ("unresolved", []),
        ),
        (
            "in the background",
            (failed(), edit(), passed(output="Command running in background with ID: b1")),
            ("unresolved", []),
        ),
        (
            "in the background, and read later",
            (
                tool("Bash", "pytest -q", "Command running in background with ID: b1"),
                tool("BashOutput", '{"bash_id": "b1"}', f"<exit_code>1</exit_code>\n{KEY_ERROR}"),
                edit(),
                tool("Bash", "pytest -q", "Command running in background with ID: b2"),
                tool("BashOutput", '{"bash_id": "b2"}', "<status>running</status>\n3 passed"),
                tool("BashOutput", '{"bash_id": "b2"}', "<exit_code>0</exit_code>\n3 passed"),
            ),
            ("fixed", ["src/cart.py"]),
        ),
        ("with an ampersand", (failed(), edit(), passed("pytest -q &", "")), ("unresolved", [])),
        (
            "a rule that is no longer listed",
            (
                failed("make lint", LINT),
                edit("cart/cart.go"),
                passed("make lint", "no issues"),
            ),
            ("fixed", ["cart/cart.go"]),
        ),
        (
            "a corrected call",
            (
                failed("gh pr create --base x", "fatal: no base branch"),
                passed("gh pr create --base main", "ok"),
            ),
            ("fixed", []),
        ),
        (
            "many files",
            (failed(), *(edit(f"src/{name}.py") for name in "abcd"), passed()),
            ("fixed", []),
        ),
    ]:
        with subtests.test(name):
            assert await resolution(*calls) == expected


async def test_a_failure_that_a_later_turn_fixes_ends_there(shop: ShopGroup) -> None:
    await shop.ingest("a", tool_calls=in_order(failed()))
    later = START + timedelta(days=1)
    run = replace(passed(), ended_at=later)
    resolved = await shop.ingest(
        "b", started_at=later, tool_calls=(replace(edit(), ended_at=later), run)
    )
    [failure], [fix] = shop.facts("FAILED_WITH"), shop.facts("FIXED_BY")
    assert (failure.invalid_at, failure.expired_at) == (later, NOW)
    assert failure.attributes["resolution"] == "fixed"
    assert failure in resolved.facts
    assert fix in resolved.facts
    assert (
        fix.text == "`pytest -q` failed in `test_total` and passed after `src/cart.py` was edited"
    )
    assert {fix.source, fix.target} <= set(resolved.mentions)


async def test_a_change_in_a_turn_between_counts(shop: ShopGroup) -> None:
    await shop.ingest("a", tool_calls=(at(0, failed()),))
    await shop.ingest("b", started_at=START + timedelta(minutes=1), tool_calls=(at(2, edit()),))
    await shop.ingest("c", started_at=START + timedelta(minutes=3), tool_calls=(at(4, passed()),))
    assert [shop.name_of(fact.target) for fact in shop.facts("FIXED_BY")] == ["src/cart.py"]


async def test_what_does_not_end_a_failure_of_an_earlier_turn(subtests: pytest.Subtests) -> None:
    before, later = START - timedelta(days=1), START + timedelta(days=3)
    for name, session, start in [
        ("another session days later", "other", later),
        ("an earlier success of a late turn", "s1", before),
    ]:
        with subtests.test(name):
            shop = ShopGroup()
            await shop.ingest("a", tool_calls=(failed(),), git_branch="ann/fix")
            await shop.ingest(
                "b",
                session_id=SessionId(session),
                git_branch="ann/fix",
                started_at=start,
                tool_calls=(replace(passed(), ended_at=start),),
            )
            assert [fact.invalid_at for fact in shop.facts("FAILED_WITH")] == [None]


async def test_a_session_that_goes_on_in_the_branch_ends_its_failures(shop: ShopGroup) -> None:
    await shop.ingest("a", tool_calls=(failed(),), git_branch="ann/fix")
    # A context is of one session.
    shop.turns.clear()
    await shop.ingest(
        "b",
        session_id=SessionId("resumed"),
        git_branch="ann/fix",
        started_at=START + timedelta(hours=1),
        tool_calls=(at(61, passed()),),
    )
    assert [fact.attributes["resolution"] for fact in shop.facts("FAILED_WITH")] == ["passed"]


async def test_a_cause_is_stated_where_the_agent_names_it_with_its_failure(
    subtests: pytest.Subtests,
) -> None:
    two = failed(output=f"{KEY_ERROR}\nFAILED tests/test_cart.py::test_tax - ValueError: no")
    code = tool("Edit", "/home/dev/shop/src/cart.py :: + def price_of(cart): ...", "updated")
    for said, run, expected in [
        ("The KeyError comes from `price_of`, which reads the old key.", two, ["price_of"]),
        ("`test_total` fails because `price_of` reads the old key.", two, ["price_of"]),
        ("The failure is caused by `price_of`.", failed(), ["price_of"]),
        ("Root cause: `price_of` returns no row.", failed(), ["price_of"]),
        ("The problem is that `price_of` reads a key that is gone.", failed(), ["price_of"]),
        ("Found the bug! `price_of` returns no row of the cart.", failed(), ["price_of"]),
        ("I found the issue: `price_of` returns no row.", failed(), ["price_of"]),
        ("The failure was due to `price_of`, which returns no row.", failed(), ["price_of"]),
        ("The bug is in step 2: `price_of` returns no row.", failed(), ["price_of"]),
        ("`price_of` returns no row, causing the failure.", failed(), ["price_of"]),
        ("I see the issue. `price_of` returns no row of the cart.", failed(), ["price_of"]),
        ("I see the problem - `price_of` returns no row.", failed(), ["price_of"]),
        ("Root cause found! `price_of` returns no row of the cart.", failed(), ["price_of"]),
        ("**Cause**: `price_of` returns no row.", failed(), ["price_of"]),
        ("The bug is `price_of`: it returns no row.", failed(), ["price_of"]),
        ("It fails because `price_of` returns no row.", failed(), ["price_of"]),
        ("The reason it failed is that `price_of` returns no row.", failed(), ["price_of"]),
        ("The KeyError was introduced by `price_of`.", failed(), ["price_of"]),
        ("So `price_of` was the cause of the failure.", failed(), ["price_of"]),
        ("I see the test. `price_of` returns no row of the cart.", failed(), []),
        ("It works because `price_of` returns a row.", failed(), []),
        ("The page is from `price_of`.", failed(), []),
        ("`price_of` returns no row, which makes the test fail.", failed(), ["price_of"]),
        ("The test failed because `price_of` returned None.", failed(), ["price_of"]),
        ("The culprit is `price_of`, which returns no row.", failed(), ["price_of"]),
        ("There's the bug. `price_of` returns no row of the cart.", failed(), ["price_of"]),
        ("There's the bug: `price_of` returns no row.", failed(), ["price_of"]),
        ("One sees that `price_of` returns no row, causing the failure.", failed(), []),
        ("Found the bug! It returns no row of `price_of`.", failed(), []),
        ("`price_of` may return no row, causing the failure.", failed(), []),
        ("根本原因是 `price_of` 返回了空值。", failed(), ["price_of"]),
        ("Die Ursache ist, dass `price_of` den alten Schlüssel liest.", failed(), ["price_of"]),
        ("The problem is that it reads `price_of`.", failed(), []),
        ("The failure is caused by my change of `price_of`.", failed(), []),
        ("The failure is caused by `price_of`.", two, []),
        ("The KeyError might be caused by `price_of`.", failed(), []),
        ("The KeyError comes from the old key.", failed(), []),
        ("`price_of` is because of the tax.", failed(), []),
        ("The KeyError comes from `price_of`.", passed(), []),
    ]:
        with subtests.test(said):
            shop = ShopGroup()
            await shop.ingest(assistant_text=said, tool_calls=in_order(run, code))
            facts = shop.facts("CAUSED_BY")
            assert [shop.name_of(fact.target) for fact in facts] == expected
            causes = ("caused by `price_of`", "because of `price_of`")
            assert all(any(cause in fact.text for cause in causes) for fact in facts)
