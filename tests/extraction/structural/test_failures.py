from pathlib import Path

import pytest

from turnetl.extraction.structural.failures import (
    check_failures,
    error_failures,
    failures_in_prompt,
    passed_tests,
    printed,
    stable_name,
)

OUTPUTS = Path(__file__).with_name("failed_outputs.txt")
"""Outputs of failed runs below a line `>>> tool`, and lines `<<< name, location, message`."""


def test_each_tool_s_output_names_what_failed_and_why(subtests: pytest.Subtests) -> None:
    sections = OUTPUTS.read_text(encoding="utf-8").split(">>> ")[1:]
    assert len(sections) > 50
    for section in sections:
        output, *expected = section.split("\n<<< ")
        tool, _, text = output.partition("\n")
        with subtests.test(tool=tool):
            found = error_failures(printed(f"Exit code 1\n{text}\n"))
            named = [(one.name, one.location, one.message) for one in found]
            assert named == [tuple(line.strip("\n").split("\t")) for line in expected]


def test_what_failed_is_found_in_the_output_of_tests_builds_and_linters(
    subtests: pytest.Subtests,
) -> None:
    for output, name, location in [
        ("--- FAIL: TestCart (0.1s)\n    --- FAIL: TestCart/empty (0.00s)", "TestCart/empty", ""),
        ("FAILED tests/test_cart.py::test_total[0] - KeyError", "test_total", "tests/test_cart.py"),
        ("test cart::tests::adds ... FAILED", "adds", ""),
        ("  ✕ adds an item (5 ms)\nTests: 1 failed", "adds an item", ""),
        (" FAIL  src/cart.test.ts > cart > adds an item", "adds an item", "src/cart.test.ts"),
        ("Cart.swift:4: error: -[CartTests testAdds] : nil", "testAdds", "Cart.swift"),
        ("FAIL: test_total (tests.test_cart)", "test_total", "tests.test_cart"),
        (
            "error[E0382]: use of moved value\n  --> src/cart.rs:4:5",
            "error[E0382]: use of moved value",
            "src/cart.rs",
        ),
        ("src/a.ts(3,5): error TS2304: Cannot find name", "TS2304: Cannot find name", "src/a.ts"),
        ("cart.go:12:3: undefined: total", "undefined: total", "cart.go"),
        ("cart.go:12:3: G304: a path (gosec)", "gosec G304 in cart.go", "cart.go"),
        ("a.py:1:8: F401 `os` imported but unused", "F401 in a.py", "a.py"),
        ('a.py:3: error: No attribute "x"  [attr-defined]', "attr-defined in a.py", "a.py"),
        ("src/a.js\n  3:5  error  'x' is unused  no-unused-vars", "no-unused-vars in src/a.js",
         "src/a.js"),
        ("E   AssertionError: 1 != 2", "AssertionError: 1 != 2", ""),
        ("ERROR tests/a.py - ImportError: no x", "ImportError: no x", "tests/a.py"),
        ("panic: nil map [recovered]", "panic: nil map", ""),
    ]:  # fmt: skip
        with subtests.test(output=output):
            found = check_failures(f"Exit code 1\n{output}\n", is_error=True)
            assert [(failure.name, failure.location) for failure in found] == [(name, location)]


def test_the_error_of_another_command_is_found(subtests: pytest.Subtests) -> None:
    for output, name in [
        ("TypeError: x is not a function", "TypeError: x is not a function"),
        ("java.lang.NullPointerException: cart", "NullPointerException: cart"),
        ("fatal: not a git repository", "fatal: not a git repository"),
        ("zsh: command not found: mise", "command not found: mise"),
        ("! [remote] access denied\nDone.", "! [remote] access denied"),
        ("no pull requests for branch x", "no pull requests for branch x"),
        ("no pull requests for branch x", "no pull requests for branch x"),
    ]:
        with subtests.test(output=output):
            found = error_failures(f"Exit code 1\n{output}\n")
            assert [(failure.name, failure.location) for failure in found] == [(name, "")]


def test_an_output_without_a_name_of_what_failed_gives_none(subtests: pytest.Subtests) -> None:
    for output in [
        "Exit code 1",
        "",
        "3 passed",
        "make: *** [test] Error 1",
        "FAIL\tshop/cart\t1s",
    ]:
        with subtests.test(output=output):
            assert check_failures(output, is_error=True) == []
    assert (
        error_failures("Exit code 1")
        == error_failures("line one\nline two\nline three\nline four")
        == []
    )


def test_tests_that_passed_are_named() -> None:
    output = (
        "--- PASS: TestCart (0s)\ntests/a.py::test_tax PASSED\ntest tax ... ok\nok  \tshop/a\t1s"
    )
    assert passed_tests(output) == {"TestCart", "test_tax", "tax", "shop/a"}


def test_the_name_of_an_error_is_stable_across_runs() -> None:
    first = "open /tmp/x81/a.db at 0x7f3a90 after 31ms in cart.go:12:3 (pid 4711)"
    second = "open /tmp/q02/b.db at 0x8e1b22 after 4ms in cart.go:77:1 (pid 12)"
    assert stable_name(first) == stable_name(second)


def test_an_error_that_the_user_pastes_is_reported() -> None:
    [failure] = failures_in_prompt("I get this:\n  ValueError: no price for 12\nwhy?")
    assert failure.name == "ValueError: no price for 12"
