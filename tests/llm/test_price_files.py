"""Price files of the user: which one wins, what tokens cost, and errors in a file."""

import os
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnetl.base.errors import BadUsage
from turnetl.base.model import Usage
from turnetl.llm.prices import (
    Price,
    PriceFile,
    Prices,
    load_prices,
    parse_price_file,
    read_price_files,
)

NOWHERE = Path("/nowhere")
NOW = datetime(2026, 11, 1, tzinfo=UTC)


def write(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return path


def prices(project: Path = NOWHERE, home: Path = NOWHERE) -> Prices:
    """The prices of a run in a project folder."""
    path = project / ".graphiti" / "prices.toml"
    file = PriceFile(path, path.read_bytes()) if path.exists() else None
    return load_prices(file, home, at=NOW)


def of_file(path: Path) -> Prices:
    """The prices of one file, without those of the library."""
    return Prices(read_price_files(path))


def test_a_server_of_the_users_own_is_free_only_if_a_file_says_so(tmp_path: Path) -> None:
    assert prices(tmp_path).find("openai-compatible/qwen3") is None
    write(
        tmp_path / ".graphiti" / "prices.toml",
        '"openai-compatible/*" = { input = 0, output = 0 }',
    )
    assert prices(tmp_path).find("openai-compatible/qwen3") == Price(0, 0, 0)


def test_the_projects_file_wins_over_the_users_and_that_over_the_library(tmp_path: Path) -> None:
    project, home = tmp_path / "work", tmp_path / "home"
    write(
        home / ".graphiti" / "prices.toml",
        '"openai/gpt-4.1" = { input = 2, output = 2 }',
        '"me/*" = { input = 2, output = 2 }',
    )
    write(project / ".graphiti" / "prices.toml", '"openai/gpt-4.1" = { input = 1, output = 1 }')
    known = prices(project, home)
    assert known.find("openai/gpt-4.1") == Price(1, 1, 1)
    assert known.find("me/any") == Price(2, 2, 2)
    assert known.find("openai/gpt-4.1-mini") == prices().find("openai/gpt-4.1-mini") is not None
    assert known.find("you/any") is None


def test_a_pattern_of_a_file_wins_over_the_library(tmp_path: Path) -> None:
    write(tmp_path / ".graphiti" / "prices.toml", '"openai/*" = { input = 9, output = 9 }')
    assert prices(tmp_path).find("openai/gpt-4.1") == Price(9, 9, 9)


def test_a_pattern_of_the_projects_file_wins_over_a_name_of_the_users(tmp_path: Path) -> None:
    project, home = tmp_path / "work", tmp_path / "home"
    write(project / ".graphiti" / "prices.toml", '"openai/*" = { input = 9, output = 9 }')
    write(home / ".graphiti" / "prices.toml", '"openai/gpt-4.1" = { input = 1, output = 1 }')
    assert prices(project, home).find("openai/gpt-4.1") == Price(9, 9, 9)


def test_a_full_name_wins_over_a_pattern_and_a_longer_pattern_over_a_shorter(
    tmp_path: Path,
) -> None:
    lines = [
        f'"{name}" = {{ input = {dollars}, output = 9 }}'
        for name, dollars in [("*", 1), ("a/*", 2), ("a/b*", 3), ("a/b", 4), ("*/b-c", 5)]
    ]
    known = of_file(write(tmp_path / "p.toml", *lines))
    matches = [known.find(name) for name in ("x", "a/x", "a/bx", "a/b", "z/b-c")]
    assert [price.input for price in matches if price] == [1, 2, 3, 4, 5]


def test_cached_tokens_cost_the_price_in_the_file_or_else_the_input_price(tmp_path: Path) -> None:
    path = write(
        tmp_path / "p.toml",
        '"a/b" = { input = 2.0, cached_input = 0.5, output = 8.0 }',
        '"a/c" = { input = 2.0, output = 8.0 }',
    )
    usage = Usage(prompt_tokens=1_000_000, cached_tokens=600_000, completion_tokens=100_000)
    costs = [price.cost(usage) for name in ("a/b", "a/c") if (price := of_file(path).find(name))]
    assert costs == pytest.approx([0.8 + 0.3 + 0.8, 2.0 + 0.8])


def test_cache_writes_cost_the_price_in_the_file_or_else_the_input_price(tmp_path: Path) -> None:
    path = write(
        tmp_path / "p.toml",
        '"a/b" = { input = 2.0, cache_write = 2.5, output = 8.0 }',
        '"a/c" = { input = 2.0, output = 8.0 }',
    )
    usage = Usage(prompt_tokens=1_000_000, completion_tokens=100_000)
    costs = [
        price.cost(usage, cache_write_tokens=400_000)
        for name in ("a/b", "a/c")
        if (price := of_file(path).find(name))
    ]
    assert costs == pytest.approx([1.2 + 1.0 + 0.8, 2.0 + 0.8])


BROKEN = {
    '"a/b" = { input = 1, output = -2 }': (3, "-2.0 is not a price"),
    '"a/b" = { input = "1", output = 2 }': (3, "Expected `float`, got `str`"),
    '"a/b" = { input = nan, output = 2 }': (3, "nan is not a price"),
    '"a/b" = { input = inf, output = 2 }': (3, "inf is not a price"),
    '"a/b" = { input = 1, cache_write = -1, output = 2 }': (3, "-1.0 is not a price"),
    '"a/b" = { input = 1, output = 2, cached = 1 }': (3, "unknown field `cached`"),
    '"a/b" = { input = 1, cached_input = 2, output = 2 }': (3, "`cached_input` is above `input`"),
    '"a/b" = { input = 1 }': (3, "missing required field `output`"),
    '"a/b" = 3': (3, "got `int`"),
    '["a/b"]\ninput = 1': (3, "missing required field `output`"),
    '"gpt-4.1-mini" = { input = 1, output = 2 }': (3, "with its provider"),
    '"a/b" = { input = 1, output = 2': (3, "not valid TOML"),
    '"a/b" = { input = 1, output = 2 }\n"a/b" = { input = 1, output = 2 }': (4, "not valid TOML"),
}


@pytest.mark.parametrize("lines", BROKEN)
def test_an_error_names_the_file_the_line_and_the_reason(tmp_path: Path, lines: str) -> None:
    number, reason = BROKEN[lines]
    path = write(tmp_path / "p.toml", "# mine", '"a/b-c" = { input = 1, output = 1 }', lines)
    with pytest.raises(BadUsage, match=re.escape(reason)) as raised:
        read_price_files(path)
    assert f"`{path}`" in str(raised.value)
    assert f"line {number}" in str(raised.value)


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"\xff\xfe", "not UTF-8"), (b"#" * 1_000_001, "larger than a megabyte"), (None, "read")],
)
def test_binary_content_a_folder_and_a_huge_file_are_rejected(
    tmp_path: Path, content: bytes | None, reason: str
) -> None:
    path = tmp_path / "p.toml"
    path.mkdir() if content is None else path.write_bytes(content)
    with pytest.raises(BadUsage, match=reason):
        read_price_files(path)


def test_a_path_below_a_file_and_a_dangling_link_count_as_missing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    assert read_price_files(tmp_path / "file" / "p.toml", tmp_path / "link") == ()


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything"
)
def test_a_folder_without_permission_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir()
    folder.chmod(0)
    with pytest.raises(BadUsage, match="cannot read"):
        read_price_files(folder / "p.toml")


def test_a_path_that_is_too_long_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadUsage, match="cannot read"):
        read_price_files(tmp_path / ("x" * 5_000))


def test_an_empty_file_and_a_byte_order_mark_are_accepted(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_bytes(b"")
    assert of_file(path).find("a/b") is None
    path.write_bytes(b'\xef\xbb\xbf"a/b" = { input = 1, output = 2 }')
    assert of_file(path).find("a/b") == Price(1, 1, 2)


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30))
def test_the_line_in_the_message_makes_the_price_known(name: str) -> None:
    model = f"openai-compatible/{name.replace('*', '')}"
    line = Prices().missing(model).split("add the line `")[1].split("` (US dollars")[0]
    text = line.replace("DOLLARS", "1.5")
    assert parse_price_file(text, Path("p.toml")).get(model) == Price(1.5, 1.5, 1.5)


def test_a_missing_price_belongs_into_the_file_of_the_user(tmp_path: Path) -> None:
    """The folder of a run may be temporary, as that of a Prefect worker."""
    home, folder = tmp_path / "home", tmp_path / "folder of a worker"
    known = prices(folder, home)
    own = f"to `{home / '.graphiti' / 'prices.toml'}`"
    assert known.missing("a/b").endswith(own)
    untrusted = replace(known, ignored="ignored `prices.toml`").missing("a/b")
    assert untrusted.endswith(f"{own}; if it is in another file: ignored `prices.toml`")
