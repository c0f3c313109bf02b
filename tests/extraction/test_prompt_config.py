"""Prompt configurations: by group and kind, read once, identified by a digest."""

import logging
from pathlib import Path

import pytest

from tests.extraction.fixed_prompt import fixed_prompt
from turnetl.base.errors import BadUsage
from turnetl.base.ids import recipe_digest
from turnetl.base.model import GroupId
from turnetl.extraction.config import ExtractionConfig, PromptConfig, PromptConfigs
from turnetl.extraction.templates import TemplateResolver

SHOP, OTHER = GroupId("shop"), GroupId("other")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("all", "errors", "shop"):
        (tmp_path / f"{name}.md").write_text(f"Read as {name}.")
    return tmp_path


def prompt_configs(folder: Path, **config: object) -> PromptConfigs:
    settings = {"preprocessing_prompt": "all.md", **config}
    return PromptConfigs(ExtractionConfig.model_validate(settings), TemplateResolver([folder]))


def test_a_turn_has_the_prompt_of_its_group_and_kind(folder: Path) -> None:
    configs = prompt_configs(
        folder,
        kinds={"error_heavy": "errors.md", "conversational": "Only what was agreed."},
        groups={
            "shop": {"preprocessing_prompt": "shop.md"},
            "quiet": {"kinds": {"ordinary": None}},
        },
    )
    turns = [(OTHER, ""), (OTHER, "error_heavy"), (OTHER, "conversational"), (SHOP, "error_heavy")]
    found = [configs.for_turn(group, kind) for group, kind in turns]
    assert [(passage.name, passage.instructions) for passage in found] == [
        ("all.md", "Read as all."),
        ("errors.md", "Read as errors."),
        ("inline", "Only what was agreed."),
        ("shop.md", "Read as shop."),
    ]
    disabled = configs.for_turn(GroupId("quiet"), "ordinary")
    assert (disabled.name, disabled.instructions) == ("none", None)


def test_the_mode_of_the_group_sets_the_order_of_instructions_and_hints(folder: Path) -> None:
    configs = prompt_configs(folder, reflexion=2, groups={"shop": {"preprocessing_mode": "append"}})
    assert configs.for_turn(OTHER).with_hints("Hints.") == "Read as all.\n\nHints."
    assert configs.for_turn(SHOP).with_hints("Hints.") == "Hints.\n\nRead as all."
    assert configs.for_turn(OTHER).with_hints("") == "Read as all."
    assert fixed_prompt(None).for_turn(OTHER).with_hints("Hints.") == "Hints."
    assert fixed_prompt(None).for_turn(OTHER).with_hints("") == ""


def digest(config: PromptConfig) -> str:
    return recipe_digest(config.recipe_parts)


def test_editing_a_template_changes_the_digest_of_its_turns_only(folder: Path) -> None:
    kinds = {"error_heavy": "errors.md"}
    before = prompt_configs(folder, kinds=kinds)
    first = [digest(before.for_turn(SHOP, kind)) for kind in ("ordinary", "error_heavy")]
    (folder / "errors.md").write_text("Read as failures.")
    after = prompt_configs(folder, kinds=kinds)
    again = [digest(after.for_turn(SHOP, kind)) for kind in ("ordinary", "error_heavy")]
    assert again[0] == first[0]
    assert again[1] != first[1]


def test_an_edit_during_a_run_has_no_effect_on_it(folder: Path) -> None:
    configs = prompt_configs(folder)
    config = configs.for_turn(SHOP)
    (folder / "all.md").write_text("Edited in the middle of a run.")
    assert configs.for_turn(SHOP) == config
    assert configs.for_turn(OTHER, "ordinary").instructions == config.instructions


def test_a_change_without_effect_does_not_change_the_digest(folder: Path) -> None:
    plain = digest(prompt_configs(folder).for_turn(SHOP))
    # Without hints the mode has no effect.
    assert digest(prompt_configs(folder, preprocessing_mode="append").for_turn(SHOP)) == plain
    (folder / "all.md").write_text("---\ndescription: The same.\n---\nRead as all.\n")
    assert digest(prompt_configs(folder).for_turn(SHOP)) == plain
    assert digest(fixed_prompt("Read as all.").for_turn(SHOP)) == plain


def test_a_change_with_an_effect_changes_the_digest(folder: Path) -> None:
    configs: list[dict[str, object]] = [
        {},
        {"preprocessing_prompt": None},
        {"preprocessing_prompt": "errors.md"},
        {"reflexion": 1},
        {"reflexion": 2},
        {"reflexion": 1, "preprocessing_mode": "append"},
    ]
    assert len(
        {digest(prompt_configs(folder, **config).for_turn(SHOP)) for config in configs}
    ) == len(configs)


@pytest.mark.parametrize("prompt", [None, False, True, "missing.md"])
def test_no_instructions_is_graphitis_own_behaviour(prompt: str | None, folder: Path) -> None:
    config = prompt_configs(folder, preprocessing_prompt=prompt).for_turn(SHOP)
    assert config.instructions is None
    assert digest(config) == digest(fixed_prompt(None).for_turn(SHOP))


def test_a_missing_template_is_one_warning_for_all_groups_and_kinds(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    configs = prompt_configs(folder, preprocessing_prompt="missing.md")
    with caplog.at_level(logging.WARNING):
        for group in (SHOP, OTHER):
            for kind in ("", "ordinary", "error_heavy"):
                configs.for_turn(group, kind)
    assert len(caplog.records) == 1
    assert "`missing.md`" in caplog.text


def test_true_is_a_warning(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        prompt_configs(folder, preprocessing_prompt=True).for_turn(SHOP)
    assert "`true`, which names no template" in caplog.text


@pytest.mark.parametrize("word", ["none", "default-session-turn", "ALL.MD"])
def test_one_word_instructions_are_a_warning_and_are_used(
    word: str, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert prompt_configs(folder, preprocessing_prompt=word).for_turn(SHOP).instructions == word
    assert f"the instructions are one word, `{word}`" in caplog.text


@pytest.mark.parametrize("instructions", ["Be brief.", "只提取决定和错误", ""])
def test_plausible_instructions_are_not_a_warning(
    instructions: str, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        prompt_configs(folder, preprocessing_prompt=instructions).for_turn(SHOP)
    assert caplog.records == []


def test_a_template_with_invalid_front_matter_is_rejected(folder: Path) -> None:
    (folder / "all.md").write_text("---\nnoise_patterns: ['(']\n---\nRead.")
    with pytest.raises(BadUsage, match=r"all\.md"):
        prompt_configs(folder).for_turn(SHOP)


def test_a_turn_has_the_noise_patterns_of_its_own_template(folder: Path) -> None:
    (folder / "errors.md").write_text("---\nnoise_patterns: [DEBUG.*]\n---\nRead.")
    configs = prompt_configs(folder, kinds={"error_heavy": "errors.md"})
    assert configs.for_turn(SHOP, "error_heavy").noise_patterns == ("DEBUG.*",)
    assert configs.for_turn(SHOP, "ordinary").noise_patterns == ()
