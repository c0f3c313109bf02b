"""Price files: which one wins, what a price makes of tokens, and what is said of broken ones."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnetl.errors import BadUsage
from turnetl.llm import prices
from turnetl.llm.prices import Price, Prices
from turnetl.model import Usage

NOWHERE = Path("/nowhere")


def written(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return path


def built_in() -> Path:
    return prices.default_paths(NOWHERE, NOWHERE)[-1]


def test_the_built_in_file_knows_models_of_every_provider_and_says_that_it_grows_old() -> None:
    known = prices.read_price_files(built_in())
    for model in ("openai/gpt-4.1-mini", "anthropic/claude-haiku-4-5", "gemini/gemini-2.5-flash"):
        price = known.of(model)
        assert price is not None
        assert 0 < price.cached_input <= price.input < price.output
    head = built_in().read_text().split("\n\n")[0]
    assert "As of" in head
    assert "CHECK THEM" in head


def test_a_server_of_ones_own_costs_nothing_only_if_the_file_says_so(tmp_path: Path) -> None:
    mine = tmp_path / prices.NAME
    assert prices.read_price_files(mine, built_in()).of("openai-compatible/qwen3") is None
    written(mine, '"openai-compatible/*" = { input = 0, output = 0 }')
    assert prices.read_price_files(mine, built_in()).of("openai-compatible/qwen3") == Price(0, 0, 0)


def test_the_projects_file_wins_over_the_persons_and_that_over_the_built_in(
    tmp_path: Path,
) -> None:
    project, home = tmp_path / "work", tmp_path / "home"
    files = prices.default_paths(project, home)
    written(
        files[1],
        '"openai/gpt-4.1" = { input = 2, output = 2 }',
        '"me/*" = { input = 2, output = 2 }',
    )
    written(files[0], '"openai/gpt-4.1" = { input = 1, output = 1 }')
    known = prices.read_price_files(*files)
    assert known.of("openai/gpt-4.1") == Price(1, 1, 1)
    assert known.of("me/any") == Price(2, 2, 2)
    assert known.of("openai/gpt-4.1-mini") == prices.read_price_files(built_in()).of(
        "openai/gpt-4.1-mini"
    )
    assert known.of("you/any") is None


def test_a_pattern_of_a_nearer_file_wins_over_a_name_of_one_further_away(tmp_path: Path) -> None:
    near = written(tmp_path / "near.toml", '"openai/*" = { input = 9, output = 9 }')
    assert prices.read_price_files(near, built_in()).of("openai/gpt-4.1") == Price(9, 9, 9)


def test_a_whole_name_wins_over_a_pattern_and_a_longer_pattern_over_a_shorter(
    tmp_path: Path,
) -> None:
    lines = [
        f'"{name}" = {{ input = {dollars}, output = 9 }}'
        for name, dollars in [("*", 1), ("a/*", 2), ("a/b*", 3), ("a/b", 4), ("*/b-c", 5)]
    ]
    known = prices.read_price_files(written(tmp_path / "p.toml", *lines))
    found = [known.of(name) for name in ("x", "a/x", "a/bx", "a/b", "z/b-c")]
    assert [price.input for price in found if price] == [1, 2, 3, 4, 5]


def test_cached_tokens_cost_what_the_file_says_or_else_what_the_others_cost(
    tmp_path: Path,
) -> None:
    path = written(
        tmp_path / "p.toml",
        '"a/b" = { input = 2.0, cached_input = 0.5, output = 8.0 }',
        '"a/c" = { input = 2.0, output = 8.0 }',
    )
    usage = Usage(prompt_tokens=1_000_000, cached_tokens=600_000, completion_tokens=100_000)
    costs = [
        price.of(usage)
        for name in ("a/b", "a/c")
        if (price := prices.read_price_files(path).of(name))
    ]
    assert costs == pytest.approx([0.8 + 0.3 + 0.8, 2.0 + 0.8])


BROKEN = {
    '"a/b" = { input = 1, output = -2 }': (3, "-2.0 is no price"),
    '"a/b" = { input = "1", output = 2 }': (3, "Expected `float`, got `str`"),
    '"a/b" = { input = nan, output = 2 }': (3, "nan is no price"),
    '"a/b" = { input = inf, output = 2 }': (3, "inf is no price"),
    '"a/b" = { input = 1, output = 2, cached = 1 }': (3, "unknown field `cached`"),
    '"a/b" = { input = 1, cached_input = 2, output = 2 }': (3, "cost more than others"),
    '"a/b" = { input = 1 }': (3, "missing required field `output`"),
    '"a/b" = 3': (3, "got `int`"),
    '["a/b"]\ninput = 1': (3, "missing required field `output`"),
    '"gpt-4.1-mini" = { input = 1, output = 2 }': (3, "with its provider"),
    '"a/b" = { input = 1, output = 2': (3, "no TOML"),
    '"a/b" = { input = 1, output = 2 }\n"a/b" = { input = 1, output = 2 }': (4, "no TOML"),
}


@pytest.mark.parametrize("lines", BROKEN)
def test_a_broken_file_is_named_with_the_line_and_what_is_wrong(tmp_path: Path, lines: str) -> None:
    number, reason = BROKEN[lines]
    path = written(tmp_path / "p.toml", "# mine", '"a/b-c" = { input = 1, output = 1 }', lines)
    with pytest.raises(BadUsage, match=re.escape(reason)) as refused:
        prices.read_price_files(path)
    assert f"`{path}`" in str(refused.value)
    assert f"line {number}" in str(refused.value)


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"\xff\xfe", "not UTF-8"), (b"#" * 1_000_001, "larger than a megabyte"), (None, "read")],
)
def test_what_is_no_text_or_no_file_or_too_much_is_refused(
    tmp_path: Path, content: bytes | None, reason: str
) -> None:
    path = tmp_path / "p.toml"
    path.mkdir() if content is None else path.write_bytes(content)
    with pytest.raises(BadUsage, match=reason):
        prices.read_price_files(path)


def test_a_file_that_cannot_be_there_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    assert (
        prices.read_price_files(tmp_path / "file" / "p.toml", tmp_path / "link").of("a/b") is None
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_entered_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir()
    folder.chmod(0)
    with pytest.raises(BadUsage, match="cannot be read"):
        prices.read_price_files(folder / "p.toml")


def test_a_path_that_is_too_long_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadUsage, match="cannot be read"):
        prices.read_price_files(tmp_path / ("x" * 5_000))


def test_an_empty_file_and_one_that_begins_with_a_mark_of_its_encoding_are_fine(
    tmp_path: Path,
) -> None:
    path = tmp_path / "p.toml"
    path.write_bytes(b"")
    assert prices.read_price_files(path).of("a/b") is None
    path.write_bytes(b'\xef\xbb\xbf"a/b" = { input = 1, output = 2 }')
    assert prices.read_price_files(path).of("a/b") == Price(1, 1, 2)


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30))
def test_the_line_that_is_asked_for_makes_the_price_known(name: str) -> None:
    model = f"openai-compatible/{name.replace('*', '')}"
    line = Prices().missing(model).split("add the line `")[1].split("` (US dollars")[0]
    said = line.replace("DOLLARS", "1.5")
    assert prices.parse_price_file(said, Path("p.toml")).get(model) == Price(1.5, 1.5, 1.5)


def test_the_file_to_add_it_to_is_the_projects(tmp_path: Path) -> None:
    files = prices.default_paths(tmp_path, NOWHERE)
    said = prices.read_price_files(*files).missing("a/b")
    assert said.endswith(f"to `{tmp_path / '.graphiti' / 'prices.toml'}`")
