"""The report of the filter, as a table and as JSON."""

from dataclasses import replace
from typing import Any

from tests.printed import printed
from turnetl.base.model import GroupId
from turnetl.base.results import plain
from turnetl.episodes import FilteredGroup, FilterReport, NoiseCount
from turnetl.views import filter as view

NUMBERS = ("turns", "chars_before", "chars_after", "tokens", "tokens_saved")


def group(name: str, *noise: NoiseCount, kept: int = 3, chars: int = 1_000) -> FilteredGroup:
    return FilteredGroup(
        group=GroupId(name),
        turns=kept + sum(count.turns for count in noise),
        kept=kept,
        noise=noise,
        copies=0,
        variants=0,
        chars_before=chars + sum(count.chars for count in noise),
        chars_after=chars // 5,
        tokens=chars // 20,
    )


def table_lines(*groups: FilteredGroup, width: int = 80) -> list[str]:
    return printed(view.view(FilterReport(groups)), width).splitlines()


def as_json(*groups: FilteredGroup) -> dict[str, Any]:
    values: dict[str, Any] = plain(FilterReport(groups))
    return values


def numbers(line: str) -> list[int]:
    return [int(word.replace(",", "")) for word in line.split() if word[0].isdigit()]


BOOKS = group("books", NoiseCount("copy", 2, 400), NoiseCount("repeat", 1, 80))
SHOES = group("shoes", NoiseCount("copy", 1, 40), kept=1, chars=2_000)


def test_a_group_has_a_row_one_for_its_kept_turns_and_one_per_rule() -> None:
    rows = {line.split()[0]: numbers(line) for line in table_lines(BOOKS) if numbers(line)[3:]}
    assert rows == {
        "books": [6, 1_480, 200, 50, 320],
        "kept": [3, 1_000, 200, 50, 200],
        "copy": [2, 400, 0, 0, 100],
        "repeat": [1, 80, 0, 0, 20],
    }


def test_copies_and_versions_with_another_text_are_counted_apart() -> None:
    assert table_lines(BOOKS)[-1] == "tokens are estimates"
    repeated = replace(BOOKS, copies=2, variants=1)
    assert " ".join(" ".join(table_lines(repeated, width=200)).split()).endswith(
        "tokens are estimates; 2 copies of these turns in other archives not counted; "
        "1 variant with another text in other archives not kept"
    )
    assert (as_json(repeated)["copies"], as_json(repeated)["variants"]) == (2, 1)


def test_json_has_the_numbers_of_the_table() -> None:
    values = as_json(BOOKS, SHOES)
    lines = [numbers(line) for line in table_lines(BOOKS, SHOES) if "all 2" not in line]
    rows = [line for line in lines if len(line) == 5]
    json_rows = [
        row
        for counts in values["groups"]
        for row in ([source[name] for name in NUMBERS] for source in (counts, counts["kept"]))
    ]
    assert [row for row in json_rows if row not in rows] == []
    assert values["noise"] == {
        "copy": {"turns": 3, "chars_before": 440, "chars_after": 0, "tokens_saved": 110},
        "repeat": {"turns": 1, "chars_before": 80, "chars_after": 0, "tokens_saved": 20},
    }


def test_the_savings_of_groups_and_rules_add_up() -> None:
    values = as_json(BOOKS, SHOES)
    for counts in [values, *values["groups"]]:
        noise = counts["noise"].values()
        for name in ("turns", "chars_before", "chars_after", "tokens_saved"):
            assert counts[name] == counts["kept"][name] + sum(rule[name] for rule in noise)
    for name in NUMBERS:
        assert values[name] == sum(counts[name] for counts in values["groups"])
    assert values["tokens_saved"] == 320 + 410


def test_tokens_and_saved_tokens_are_the_tokens_of_the_archives_text() -> None:
    chinese = replace(BOOKS, tokens=150)
    values = as_json(chinese)
    assert values["tokens"] + values["tokens_saved"] == 1_480 * 150 / 200
    assert values["noise"]["copy"]["tokens_saved"] == 300


def test_without_kept_turns_four_characters_are_a_token() -> None:
    only_noise = replace(BOOKS, kept=0, chars_before=480, chars_after=0, tokens=0)
    assert as_json(only_noise)["tokens_saved"] == 120


def test_twenty_groups_with_long_names_and_numbers_fit_a_terminal() -> None:
    noise = NoiseCount("an_own_rule_with_a_long_name", 123_456, 12_345_678)
    groups = [
        group(f"somebody_with_a_long_project_{n:02}", noise, kept=234_567, chars=87_654_321)
        for n in range(20)
    ]
    lines = table_lines(*groups)
    assert max(map(len, lines)) <= 80
    assert "…" not in "".join(lines)
    assert sum(" 87,654,321" in line for line in lines) == 20
    assert any("all 20 groups" in line for line in lines)


def test_a_text_longer_than_its_turn_saves_less_than_zero() -> None:
    short = FilteredGroup(GroupId("x"), 1, 1, (), 0, 0, chars_before=10, chars_after=30, tokens=8)
    assert as_json(short)["tokens_saved"] == -5


def test_a_group_name_that_looks_like_markup_is_printed_as_it_is() -> None:
    assert any("[bold]x" in line for line in table_lines(group("[bold]x")))
