"""What the filter saves, as a person sees it and as JSON."""

from dataclasses import replace

from rich.console import Console

from turnetl.episodes import FilteredGroup, FilterReport, NoiseCount
from turnetl.model import GroupId
from turnetl.report import filter as filtered


def group(name: str, *noise: NoiseCount, kept: int = 3, chars: int = 1_000) -> FilteredGroup:
    return FilteredGroup(
        group=GroupId(name),
        turns=kept + sum(marked.turns for marked in noise),
        kept=kept,
        noise=noise,
        copies=0,
        chars_before=chars + sum(marked.chars for marked in noise),
        chars_after=chars // 5,
        tokens=chars // 20,
    )


def shown(*groups: FilteredGroup, width: int = 80) -> list[str]:
    console = Console(width=width)
    with console.capture() as captured:
        console.print(filtered.table(FilterReport(groups)))
    return captured.get().splitlines()


def numbers(line: str) -> list[int]:
    return [int(word.replace(",", "")) for word in line.split() if word[0].isdigit()]


BOOKS = group("books", NoiseCount("copy", 2, 400), NoiseCount("repeat", 1, 80))
SHOES = group("shoes", NoiseCount("copy", 1, 40), kept=1, chars=2_000)


def test_a_group_has_a_row_of_its_own_one_for_what_is_kept_and_one_a_rule() -> None:
    lines = shown(BOOKS)
    rows = {line.split()[0]: numbers(line) for line in lines if numbers(line)[3:]}
    assert rows == {
        "books": [6, 1_480, 200, 50, 320],
        "kept": [3, 1_000, 200, 50, 200],
        "copy": [2, 400, 0, 0, 100],
        "repeat": [1, 80, 0, 0, 20],
    }


def test_json_has_the_numbers_of_the_table() -> None:
    said = filtered.as_json(FilterReport((BOOKS, SHOES)))
    told = [numbers(line) for line in shown(BOOKS, SHOES) if "all 2" not in line]
    rows = [line for line in told if len(line) == 5]
    by_json = [
        row
        for of in said["groups"]
        for row in ([of[name] for name in filtered.FilterCounts._fields], [*of["kept"].values()])
    ]
    assert [row for row in by_json if row not in rows] == []
    assert said["noise"] == {
        "copy": {"turns": 3, "chars_before": 440, "chars_after": 0, "tokens_saved": 110},
        "repeat": {"turns": 1, "chars_before": 80, "chars_after": 0, "tokens_saved": 20},
    }


def test_what_the_groups_and_their_rules_save_adds_up() -> None:
    said = filtered.as_json(FilterReport((BOOKS, SHOES)))
    for of in [said, *said["groups"]]:
        marked = of["noise"].values()
        for name in ("turns", "chars_before", "chars_after", "tokens_saved"):
            assert of[name] == of["kept"][name] + sum(row[name] for row in marked)
    for name in filtered.FilterCounts._fields:
        assert said[name] == sum(of[name] for of in said["groups"])
    assert said["tokens_saved"] == 320 + 410


def test_tokens_and_tokens_saved_are_what_all_would_have_been() -> None:
    chinese = replace(BOOKS, tokens=150)
    said = filtered.as_json(FilterReport((chinese,)))
    assert said["tokens"] + said["tokens_saved"] == 1_480 * 150 / 200
    assert said["noise"]["copy"]["tokens_saved"] == 300


def test_where_nothing_is_kept_four_characters_are_a_token() -> None:
    nothing = replace(BOOKS, kept=0, chars_before=480, chars_after=0, tokens=0)
    assert filtered.as_json(FilterReport((nothing,)))["tokens_saved"] == 120


def test_twenty_groups_with_long_names_and_numbers_fit_a_terminal() -> None:
    marked = NoiseCount("an_own_rule_with_a_long_name", 123_456, 12_345_678)
    groups = [
        group(f"somebody_with_a_long_project_{n:02}", marked, kept=234_567, chars=87_654_321)
        for n in range(20)
    ]
    lines = shown(*groups)
    assert max(map(len, lines)) <= 80
    assert "…" not in "".join(lines)
    assert sum(" 87,654,321" in line for line in lines) == 20
    assert any("all 20 groups" in line for line in lines)


def test_a_text_that_says_more_than_its_turn_saves_less_than_nothing() -> None:
    short = FilteredGroup(GroupId("x"), 1, 1, (), 0, chars_before=10, chars_after=30, tokens=8)
    assert filtered.as_json(FilterReport((short,)))["tokens_saved"] == -5


def test_a_group_is_shown_as_it_is_called() -> None:
    assert any("[bold]x" in line for line in shown(group("[bold]x")))
