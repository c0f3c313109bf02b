"""What a turn is extracted with: by group and kind, read once, and known by its digest."""

import logging
from pathlib import Path

import pytest

from turnetl.errors import BadUsage
from turnetl.extraction.config import ExtractionConfig
from turnetl.extraction.prompt_config import PromptConfigs, always
from turnetl.extraction.templates import TemplateResolver
from turnetl.model import GroupId

SHOP, OTHER = GroupId("shop"), GroupId("other")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("all", "errors", "shop"):
        (tmp_path / f"{name}.md").write_text(f"Read as {name}.")
    return tmp_path


def steering(folder: Path, **said: object) -> PromptConfigs:
    config = ExtractionConfig.model_validate({"preprocessing_prompt": "all.md", **said})
    return PromptConfigs(config, TemplateResolver([folder]))


def test_a_turn_is_told_what_its_group_and_kind_say(folder: Path) -> None:
    steer = steering(
        folder,
        kinds={"error_heavy": "errors.md", "conversational": "Only what was agreed."},
        groups={
            "shop": {"preprocessing_prompt": "shop.md"},
            "quiet": {"kinds": {"ordinary": None}},
        },
    )
    asked = [(OTHER, ""), (OTHER, "error_heavy"), (OTHER, "conversational"), (SHOP, "error_heavy")]
    told = [steer.of(group, kind) for group, kind in asked]
    assert [(one.name, one.instructions) for one in told] == [
        ("all.md", "Read as all."),
        ("errors.md", "Read as errors."),
        ("inline", "Only what was agreed."),
        ("shop.md", "Read as shop."),
    ]
    nothing = steer.of(GroupId("quiet"), "ordinary")
    assert (nothing.name, nothing.instructions) == ("none", None)


def test_instructions_and_hints_stand_in_the_order_of_the_groups_mode(folder: Path) -> None:
    steer = steering(folder, reflexion=2, groups={"shop": {"preprocessing_mode": "append"}})
    assert steer.of(OTHER).join("Hints.") == "Read as all.\n\nHints."
    assert steer.of(SHOP).join("Hints.") == "Hints.\n\nRead as all."
    assert steer.of(OTHER).join("") == "Read as all."
    assert always(None).of(OTHER).join("Hints.") == "Hints."
    assert always(None).of(OTHER).join("") == ""


def test_a_change_of_a_template_is_another_digest_for_those_who_use_it_alone(folder: Path) -> None:
    kinds = {"error_heavy": "errors.md"}
    before = steering(folder, kinds=kinds)
    first = [before.of(SHOP, kind).digest for kind in ("ordinary", "error_heavy")]
    (folder / "errors.md").write_text("Read as failures.")
    after = steering(folder, kinds=kinds)
    again = [after.of(SHOP, kind).digest for kind in ("ordinary", "error_heavy")]
    assert again[0] == first[0]
    assert again[1] != first[1]


def test_a_run_sees_no_half_of_an_edit(folder: Path) -> None:
    steer = steering(folder)
    told = steer.of(SHOP)
    (folder / "all.md").write_text("Edited in the middle of a run.")
    assert steer.of(SHOP) == told
    assert steer.of(OTHER, "ordinary").instructions == told.instructions


def test_what_makes_no_difference_is_no_other_digest(folder: Path) -> None:
    plain = steering(folder).of(SHOP).digest
    # Without hints there is nothing to be before or after.
    assert steering(folder, preprocessing_mode="append").of(SHOP).digest == plain
    (folder / "all.md").write_text("---\ndescription: The same.\n---\nRead as all.\n")
    assert steering(folder).of(SHOP).digest == plain
    assert always("Read as all.").of(SHOP).digest == plain


def test_what_makes_a_difference_is_another_digest(folder: Path) -> None:
    said: list[dict[str, object]] = [
        {},
        {"preprocessing_prompt": None},
        {"preprocessing_prompt": "errors.md"},
        {"reflexion": 1},
        {"reflexion": 2},
        {"reflexion": 1, "preprocessing_mode": "append"},
    ]
    assert len({steering(folder, **one).of(SHOP).digest for one in said}) == len(said)


@pytest.mark.parametrize("nothing", [None, False, True, "not-there.md"])
def test_nothing_said_is_graphitis_own_behaviour(nothing: str | None, folder: Path) -> None:
    steer = steering(folder, preprocessing_prompt=nothing).of(SHOP)
    assert steer.instructions is None
    assert steer.digest == always(None).of(SHOP).digest


def test_a_template_that_is_not_there_is_told_of_once_for_all_groups_and_kinds(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    steer = steering(folder, preprocessing_prompt="not-there.md")
    with caplog.at_level(logging.WARNING):
        for group in (SHOP, OTHER):
            for kind in ("", "ordinary", "error_heavy"):
                steer.of(group, kind)
    assert len(caplog.records) == 1
    assert "`not-there.md`" in caplog.text


def test_true_is_told_of(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        steering(folder, preprocessing_prompt=True).of(SHOP)
    assert "`true` names no template" in caplog.text


@pytest.mark.parametrize("word", ["none", "default-session-turn", "ALL.MD"])
def test_instructions_of_one_word_are_told_of_and_said(
    word: str, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert steering(folder, preprocessing_prompt=word).of(SHOP).instructions == word
    assert f"instructions of one word, `{word}`" in caplog.text


@pytest.mark.parametrize("said", ["Be brief.", "只提取决定和错误", ""])
def test_instructions_that_may_be_meant_are_not_told_of(
    said: str, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        steering(folder, preprocessing_prompt=said).of(SHOP)
    assert caplog.records == []


def test_a_template_with_front_matter_that_cannot_be_used_stops(folder: Path) -> None:
    (folder / "all.md").write_text("---\nnoise_patterns: ['(']\n---\nRead.")
    with pytest.raises(BadUsage, match=r"all\.md"):
        steering(folder).of(SHOP)


def test_a_turn_leaves_out_what_its_own_template_says(folder: Path) -> None:
    (folder / "errors.md").write_text("---\nnoise_patterns: [DEBUG.*]\n---\nRead.")
    steer = steering(folder, kinds={"error_heavy": "errors.md"})
    assert steer.of(SHOP, "error_heavy").noise_patterns == ("DEBUG.*",)
    assert steer.of(SHOP, "ordinary").noise_patterns == ()
