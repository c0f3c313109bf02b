"""Which errors of a graph a pasted text asks about."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnetl.retrieval.fix import (
    EXACT,
    ErrorMatcher,
    failed_tests,
    identifiers,
    is_passing,
    without_passing,
)
from turnetl.retrieval.match import Match

ERRORS = {
    "TestCartTotal": "`go test ./...` failed in `TestCartTotal`",
    "TestStock": "`go test ./...` failed in `TestStock`",
    "test_commas": "`pytest -q` failed in `test_commas` in `tests/test_price.py`",
    "total_is_sum": "`cargo test` failed in `total_is_sum`",
    "adds the tax": "`jest` failed in `adds the tax`",
    "AssertionError: assert 15 == 1.5": "`pytest -q` failed with `AssertionError`",
    "KeyError: 'currency'": "`pytest -q` failed with `KeyError: 'currency'`",
    "KeyError: 'shelf'": "`pytest -q` failed with `KeyError: 'shelf'`",
    "error[E0308]: mismatched types": "`cargo build` failed with `error[E0308]`",
    "TS2322: Type 'string' is not assignable to type 'number'": "`tsc` failed in `src/cart.ts`",
    "ERESOLVE unable to resolve dependency tree": "`npm install` failed",
    "jqq: command not found": "`jqq . stock.json` failed",
    "curl: (22) The requested URL returned error: 500 Internal Server Error": "`curl` failed",
    "TypeError: Cannot read properties of undefined (reading 'total')": "`node a.js` failed",
    'NullPointerException: Cannot invoke "Cart.total()" because "cart" is null': "`java` failed",
    "=== 2 passed, 0 failed, 0 errors in ===": "`pytest -v` failed",
    "errcheck in cart.go": "`make lint` failed: the error of `shop.ReadCart` is not checked",
}
"""What each error states, by its name."""


def best(text: str) -> list[str]:
    """Return the names of the errors that match best."""
    matcher = ErrorMatcher(text, ERRORS)
    scores = {name: matcher.score(name, statement) for name, statement in ERRORS.items()}
    highest = max(scores.values())
    return [name for name, score in scores.items() if score == highest > 0]


def test_the_rarest_name_in_a_text_decides_which_errors_match(subtests: pytest.Subtests) -> None:
    for text, names in [
        ("--- FAIL: TestCartTotal (0.00s)", ["TestCartTotal"]),
        ("    --- FAIL: TestCartTotal/empty_cart (0.01s)", ["TestCartTotal"]),
        ("--- PASS: TestStock (0.00s)\n--- FAIL: TestCartTotal (0.00s)", ["TestCartTotal"]),
        ("--- FAIL: TestNothing (0.00s)", []),
        ("FAILED tests/test_price.py::test_commas - assert 1 == 2", ["test_commas"]),
        ("FAILED tests/moved.py::TestPrice::test_commas[1,5] - x", ["test_commas"]),
        ("tests/test_price.py::test_commas FAILED      [ 50%]", ["test_commas"]),
        ("FAILED tests/test_price.py::test_dots - KeyError: 'gone'", []),
        ("FAILED tests/test_a.py::test_b - KeyError: 'shelf'", ["KeyError: 'shelf'"]),
        ("E   KeyError: 'currency'", ["KeyError: 'currency'"]),
        ("E   KeyError", ["KeyError: 'currency'", "KeyError: 'shelf'"]),
        ("KeyError: 'nowhere'", []),
        ("test cart::tests::total_is_sum ... FAILED", ["total_is_sum"]),
        ("thread 'cart::tests::total_is_sum' panicked at src/a.rs:1:9", ["total_is_sum"]),
        ("error[E0308]: mismatched types", ["error[E0308]: mismatched types"]),
        ("error[E0499]: mismatched types", []),
        ("\u25cf cart \u203a adds the tax", ["adds the tax"]),
        ("\u2715 adds the fee (3 ms)", []),
        ("npm ERR! ERESOLVE unable to resolve dependency tree", [[*ERRORS][10]]),
        (
            "src/b.ts(1,2): error TS2322: Type 'string' is not assignable to type 'number'.",
            [[*ERRORS][9]],
        ),
        ("zsh: command not found: jqq", ["jqq: command not found"]),
        ("bash: line 1: jq: command not found", []),
        ("HTTP 500 Internal Server Error", [[*ERRORS][12]]),
        ("HTTP 404 Not Found Server Error", []),
        ("errcheck: ReadCart is not checked", [[*ERRORS][-1]]),
        ("errcheck: WriteCart is not checked", []),
        ("TypeError: Cannot read properties of undefined (reading 'price')", []),
        (
            f"java.lang.{[*ERRORS][14]}\n\tat shop.Main.main(Main.java:12)",
            [[*ERRORS][14]],
        ),
        ("0 failed", []),
        ("no errors found", []),
        ("tests/test_error_handler.py PASSED", []),
    ]:
        with subtests.test(text=text):
            assert best(text) == names


def test_what_only_common_words_match_is_matched_weakly(subtests: pytest.Subtests) -> None:
    cut = "open \u2026/prices.log: no such file or directory"
    for text, name, match in [
        ("KeyError", "KeyError: 'shelf'", Match.STRONG),
        ("--- FAIL: TestStock (0.1s)", "TestStock", Match.STRONG),
        ("cannot open prices.log: no such file or directory", cut, Match.STRONG),
        ("no such file or directory", cut, Match.WEAK),
        ("ENOENT: no such file or directory", cut, Match.WEAK),
        ("command failed", "TestStock", Match.WEAK),
        ("exit status 1", "exit status 1", Match.WEAK),
    ]:
        with subtests.test(text=text):
            matcher = ErrorMatcher(text, [name])
            assert matcher.match(name, f"`make` failed with `{name}`") is match
            assert match is Match.STRONG or matcher.is_common


PASSING = (
    *("--- PASS: TestErrorPath (0.00s)", "=== RUN   TestErrorPath", "PASS", "ok  \tshop\t0.01s"),
    *("ok  \tshop\t(cached)", "ok 1 - cart", "OK (skipped=1)", "error_handler.py PASSED"),
    *("tests/a.py::test_failed_login PASSED    [ 50%]", "PASS src/error.test.js"),
    *("0 failed", "0 errors, 0 warnings", "Found 0 errors.", "3 passed, 0 failed"),
    *("=== 2 passed, 0 failed, 0 errors in 0.2s ===", "=== 12 passed, 2 warnings in 0.3s ==="),
    *("Tests run: 3, Failures: 0, Errors: 0, Skipped: 0", "Tests:       2 passed, 2 total"),
    "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.0s",
    *("no errors found", "Success: no issues found in 4 source files", "All checks passed!"),
    *("\u2713 handles errors (2 ms)", "test errors::empty ... ok"),
)
FAILING = (
    *("--- FAIL: TestPass (0.00s)", "=== 2 passed, 1 failed in 0.2s ===", "not ok 2 - cart"),
    *("Tests run: 3, Failures: 1, Errors: 0", "AssertionError: expected 0 errors, got 3"),
    *("AssertionError: no errors found", "Passed value is no number", "KeyError: 'ok'"),
    *("test result: FAILED. 1 passed; 1 failed", "OK to delete? no: KeyError", "ERROR: 0 rows"),
)


def test_lines_about_what_passed_are_no_errors() -> None:
    assert [line for line in PASSING if not is_passing(line)] == []
    assert [line for line in FAILING if is_passing(line)] == []
    assert without_passing("\n".join((*PASSING, "KeyError", *PASSING))) == "KeyError"


def test_paths_and_frames_are_no_identifiers() -> None:
    text = 'src/cart_total.py:3: TypeError\n  File "a_b.py", line 3\n  at shop.Main.x(A.java:1)'
    assert identifiers(text) == ["TypeError"]


@given(st.text(), st.text())
def test_any_text_can_be_examined(text: str, name: str) -> None:
    score = ErrorMatcher(text, [name]).score(name, "")
    assert 0 <= score <= 1 or score == EXACT
    assert all(test.strip() for test in failed_tests(text))
