"""With `--redact-pii`, branches and paths of archives name no person."""

import pytest

from turnetl.parsing.person_names import branch_without_persons, path_without_persons, users_in

USERS = users_in(["/home/jane/shop", "C:\\Users\\Kim.Lee\\api", "/home/dev/x", "/srv/shop"])


def cut(name: str) -> str:
    return f"<{len(name)}>"


def test_users_are_the_persons_whose_home_folders_are_named() -> None:
    assert {"jane", "kim.lee"} == USERS


def test_the_name_of_a_person_in_a_branch_is_replaced(subtests: pytest.Subtests) -> None:
    for branch, without in [
        ("jane/fix-login", "<4>/fix-login"),
        ("Jane/fix-login", "<4>/fix-login"),
        ("jane", "<4>"),
        ("feature/jane/login", "feature/<4>/login"),
        ("feature/jane", "feature/<4>"),
        ("mia/cart", "<3>/cart"),
        ("mia-rose/cart", "<8>/cart"),
        ("mia.rose2/cart", "<9>/cart"),
        ("users/mia/cart", "users/<3>/cart"),
        ("user/m42/cart", "user/<3>/cart"),
        ("feature/mia.rose/cart", "feature/<8>/cart"),
        ("zoë/cart", "<3>/cart"),
    ]:
        with subtests.test(branch=branch):
            assert branch_without_persons(branch, USERS, cut) == without


def test_a_branch_without_a_person_stays(subtests: pytest.Subtests) -> None:
    for branch in [
        *("main", "fix-login", "feature/login", "feat/cart", "release/1.2", "v1/cart", "HEAD"),
        *("dependabot/npm_and_yarn/vite-5.4.2", "codex/add-cart", "claude/fix-tests-01abc"),
        *("ABC-123/cart", "2026-03/cart", "users/cart", "feature/v1.2/cart", "fix/a.py", "dev/x"),
        *("refs/heads/main", "origin/main", "feature/cart.page", "", "/", "a/b"),
    ]:
        with subtests.test(branch=branch):
            assert branch_without_persons(branch, USERS, cut) == branch


@pytest.mark.parametrize(
    ("path", "without"),
    [
        ("/home/jane/shop/a.jsonl", "/home/<4>/shop/a.jsonl"),
        ("/backup/Jane/a.jsonl", "/backup/<4>/a.jsonl"),
        ("/backup/-home-jane-shop/jane.jsonl", "/backup/-home-<4>-shop/jane.jsonl"),
        ("D:\\logs\\kim.lee\\a.jsonl", "D:\\logs\\<7>\\a.jsonl"),
        ("/home/janet/-home-janet-shop/a.jsonl", "/home/janet/-home-janet-shop/a.jsonl"),
    ],
)
def test_folders_with_the_name_of_a_user_are_replaced(path: str, without: str) -> None:
    assert path_without_persons(path, USERS, cut) == without
