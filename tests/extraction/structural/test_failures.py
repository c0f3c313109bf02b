import pytest

from turnetl.extraction.structural.failures import failures, failures_in_prompt, stable_name


def test_the_error_of_an_output_is_found(subtests: pytest.Subtests) -> None:
    for output, name, location in [
        ("--- FAIL: TestCart/empty (0.00s)", "TestCart", ""),
        ("FAILED tests/test_cart.py::test_total[0] - KeyError", "test_total", "tests/test_cart.py"),
        ("test cart::tests::adds ... FAILED", "adds", ""),
        ("  ✕ adds an item (5 ms)", "adds an item", ""),
        ("TypeError: x is not a function", "TypeError: x is not a function", ""),
        ("E   AssertionError: 1 != 2", "AssertionError: 1 != 2", ""),
        ("java.lang.NullPointerException: cart", "NullPointerException: cart", ""),
        ("panic: nil map [recovered]", "panic: nil map", ""),
        (
            "error[E0382]: use of moved value\n  --> src/cart.rs:4:5",
            "error[E0382]: use of moved value",
            "src/cart.rs",
        ),
        ("src/a.ts(3,5): error TS2304: Cannot find name", "TS2304: Cannot find name", "src/a.ts"),
        ("cart.go:12:3: undefined: total", "undefined: total", "cart.go"),
        ("fatal: not a git repository", "fatal: not a git repository", ""),
        ("zsh: command not found: mise", "command not found: mise", ""),
    ]:
        with subtests.test(output=output):
            found = failures(f"Exit code 1\n{output}\n", is_error=True)
            assert [(failure.name, failure.location) for failure in found] == [(name, location)]


@pytest.mark.parametrize("output", ["Exit code 1", "", "3 passed", "make: *** [test] Error 1"])
def test_an_output_without_an_error_gives_none(output: str) -> None:
    assert failures(output, is_error=True) == []


def test_the_name_of_an_error_is_stable_across_runs() -> None:
    first = "open /tmp/x81/a.db at 0x7f3a90 after 31ms in cart.go:12:3 (pid 4711)"
    second = "open /tmp/q02/b.db at 0x8e1b22 after 4ms in cart.go:77:1 (pid 12)"
    assert stable_name(first) == stable_name(second)


def test_an_error_that_the_user_pastes_is_reported() -> None:
    [failure] = failures_in_prompt("I get this:\n  ValueError: no price for 12\nwhy?")
    assert failure.name == "ValueError: no price for 12"
