"""What a template may say before its instructions, and what comes of a slip there."""

import logging
from pathlib import Path

import pytest

from turnetl.errors import BadUsage
from turnetl.extraction.config import ExtractionConfig
from turnetl.extraction.preprocessor import Preprocessor, read
from turnetl.extraction.templates import PLACE, TemplateResolver, folders

HERE = Path("here/own.md")
WHOLE = """---
name: reviews
description: Turns about code reviews.
noise_patterns:
  - '(?s)<diff>.*?</diff>'
  - "^Reviewed-by: .*$"
focus_areas:
  - what was found
  - who decided
---

Read it as a reviewer would.

---
Not front matter: a line across.
"""
BODY = "Read it as a reviewer would.\n\n---\nNot front matter: a line across."


def test_front_matter_is_read_and_the_rest_is_the_instructions() -> None:
    assert read(WHOLE, HERE) == Preprocessor(
        name="reviews",
        instructions=BODY,
        noise_patterns=(r"(?s)<diff>.*?</diff>", "^Reviewed-by: .*$"),
        focus_areas=("what was found", "who decided"),
    )


def test_the_model_is_told_the_instructions_and_then_the_focus_areas() -> None:
    told = read(WHOLE, HERE).prompt
    assert told.startswith(BODY)
    assert told.endswith("- what was found\n- who decided")
    assert "<diff>" not in told


@pytest.mark.parametrize(
    "text",
    [
        "Be brief.",
        "Be brief.\n\n---\nname: not front matter\n---",
        "--- a line that only begins so\n---",
    ],
)
def test_a_template_without_front_matter_is_instructions_byte_for_byte(text: str) -> None:
    found = read(text, HERE)
    assert found == Preprocessor("own", text)
    assert found.prompt == text


@pytest.mark.parametrize("before", ["", "\n\n"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_blank_lines_and_windows_lines_hide_no_front_matter(before: str, end: str) -> None:
    lines = ["---", "noise_patterns: [secret-.*]", "--- ", "Body."]
    found = read(before + end.join(lines), HERE)
    assert (found.noise_patterns, found.instructions) == (("secret-.*",), "Body.")


@pytest.mark.parametrize("head", ["", "# nothing said", "noise_patterns:", "focus_areas: []"])
def test_front_matter_may_say_nothing(head: str) -> None:
    assert read(f"---\n{head}\n---\nBody.", HERE) == Preprocessor("own", "Body.")


@pytest.mark.parametrize(
    ("head", "says"),
    [
        ("name: [", "line 2: broken YAML"),
        ("noise_patterns: [a]\nnoise_patterns: [b]", "line 3: broken YAML: `noise_patterns`"),
        ("name: a\x07b", "broken YAML"),
        ("just words", "names with values"),
        ("- a\n- list", "names with values"),
        ("noise_patterns: '<diff>'", "`noise_patterns` must be a list of texts"),
        ("noise_patterns: [1]", "`noise_patterns` must be a list of texts"),
        ("noise_patterns: ['']", "none of them empty"),
        ("focus_areas: {a: b}", "`focus_areas` must be a list of texts"),
        ("name: 7", "`name` must be a text"),
        ("noise_patterns: ['(']", "`(` does not compile: unclosed group"),
        ("noise_patterns: ['(?=x)']", "look-around"),
        ("noise_patterns: ['a{1000}{1000}{1000}']", "is too large"),
        (r"noise_patterns: ['\w{1,40}x{1,30}']", "is too large"),
        (f"noise_patterns: ['{'x' * 1001}']", "more than 1,000 characters"),
        ("name: &a [*a]", "`name` must be a text"),
        ("? [a, b]\n: c", "broken YAML"),
    ],
)
def test_front_matter_that_cannot_be_used_is_refused_with_its_file(head: str, says: str) -> None:
    with pytest.raises(BadUsage) as refused:
        read(f"---\n{head}\n---\nBody.", HERE)
    assert "here/own.md" in str(refused.value)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_front_matter_without_an_end_is_refused_with_its_line() -> None:
    with pytest.raises(BadUsage, match="line 2: front matter begins here"):
        read("\n---\nnoise_patterns: [x]\n\nBody.", HERE)


def test_a_name_that_means_nothing_is_a_warning_that_names_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        found = read("---\nnoise_pattern: [x]\nname: own\n---\nBody.", HERE)
    assert found.noise_patterns == ()
    assert "`noise_pattern` means nothing" in caplog.text
    assert "noise_patterns" in caplog.text


def put(folder: Path, name: str, text: str) -> TemplateResolver:
    place = folder / PLACE
    place.mkdir(parents=True)
    (place / name).write_text(text)
    return TemplateResolver(folders(folder, folder / "home"))


def test_a_config_gives_instructions_and_patterns_of_its_template(tmp_path: Path) -> None:
    templates = put(tmp_path, "reviews.md", WHOLE)
    config = ExtractionConfig(preprocessing_prompt="reviews.md")
    assert config.resolve_prompt(templates) == read(WHOLE, HERE).prompt
    assert config.preprocessor(templates) == read(WHOLE, HERE)


def test_a_template_of_patterns_alone_gives_no_instructions(tmp_path: Path) -> None:
    templates = put(tmp_path, "only.md", "---\nnoise_patterns: [x]\n---\n")
    config = ExtractionConfig(preprocessing_prompt="only.md")
    assert config.resolve_prompt(templates) is None
    assert config.preprocessor(templates) == Preprocessor("only", "", ("x",))


def test_front_matter_that_says_nothing_with_nothing_behind_it_is_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    templates = put(tmp_path, "bare.md", "---\nname: bare\n---\n\n")
    with caplog.at_level(logging.WARNING):
        assert ExtractionConfig(preprocessing_prompt="bare.md").preprocessor(templates) is None
    assert "bare.md` tells the model nothing, and leaves nothing out" in caplog.text


@pytest.mark.parametrize("nothing", [None, False, True, "not-there.md"])
def test_without_a_template_there_are_no_patterns(
    nothing: bool | str | None, tmp_path: Path
) -> None:
    templates = TemplateResolver(folders(tmp_path, tmp_path))
    assert ExtractionConfig(preprocessing_prompt=nothing).preprocessor(templates) is None


def test_inline_instructions_are_taken_as_they_are_and_have_no_front_matter() -> None:
    inline = "---\nnoise_patterns: [x]\n---"
    config = ExtractionConfig(preprocessing_prompt=inline)
    templates = TemplateResolver([])
    assert config.resolve_prompt(templates) == inline
    assert config.preprocessor(templates) == Preprocessor("inline", inline)
