"""Templates: front matter, instructions, and the errors of invalid front matter."""

import logging
from pathlib import Path

import pytest

from turnetl.base.errors import BadUsage
from turnetl.extraction.config import ExtractionConfig, Template, parse_template_file
from turnetl.extraction.templates import TEMPLATES_FOLDER, TemplateResolver, search_folders

PATH = Path("folder/own.md")
TEMPLATE = """---
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
Not front matter: a horizontal rule.
"""
BODY = "Read it as a reviewer would.\n\n---\nNot front matter: a horizontal rule."


def test_front_matter_is_read_and_the_rest_is_the_instructions() -> None:
    assert parse_template_file(TEMPLATE, PATH) == Template(
        name="reviews",
        instructions=BODY,
        noise_patterns=(r"(?s)<diff>.*?</diff>", "^Reviewed-by: .*$"),
        focus_areas=("what was found", "who decided"),
    )


def test_the_prompt_is_the_instructions_and_then_the_focus_areas() -> None:
    prompt = parse_template_file(TEMPLATE, PATH).prompt
    assert prompt.startswith(BODY)
    assert prompt.endswith("- what was found\n- who decided")
    assert "<diff>" not in prompt


@pytest.mark.parametrize(
    "text",
    [
        "Be brief.",
        "Be brief.\n\n---\nname: not front matter\n---",
        "--- a line that only begins with dashes\n---",
    ],
)
def test_a_template_without_front_matter_is_instructions_byte_for_byte(text: str) -> None:
    template = parse_template_file(text, PATH)
    assert template == Template("own", text)
    assert template.prompt == text


@pytest.mark.parametrize("leading", ["", "\n\n"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_front_matter_is_found_after_blank_lines_and_with_crlf_line_endings(
    leading: str, end: str
) -> None:
    lines = ["---", "noise_patterns: [secret-.*]", "--- ", "Body."]
    template = parse_template_file(leading + end.join(lines), PATH)
    assert (template.noise_patterns, template.instructions) == (("secret-.*",), "Body.")


@pytest.mark.parametrize("head", ["", "# a comment", "noise_patterns:", "focus_areas: []"])
def test_front_matter_may_be_empty(head: str) -> None:
    assert parse_template_file(f"---\n{head}\n---\nBody.", PATH) == Template("own", "Body.")


def test_invalid_front_matter_is_rejected_with_its_file(subtests: pytest.Subtests) -> None:
    for head, message in [
        ("name: [", "line 2: invalid YAML"),
        (
            "noise_patterns: [a]\nnoise_patterns: [b]",
            "line 3: invalid YAML: the key `noise_patterns`",
        ),
        ("name: a\x07b", "invalid YAML"),
        ("just words", "keys with values"),
        ("- a\n- list", "keys with values"),
        ("noise_patterns: '<diff>'", "`noise_patterns` must be a list of strings"),
        ("noise_patterns: [1]", "`noise_patterns` must be a list of strings"),
        ("noise_patterns: ['']", "none of them empty"),
        ("focus_areas: {a: b}", "`focus_areas` must be a list of strings"),
        ("name: 7", "`name` must be a string"),
        ("noise_patterns: ['(']", "`(` does not compile: unclosed group"),
        ("noise_patterns: ['(?=x)']", "look-around"),
        ("noise_patterns: ['a{1000}{1000}{1000}']", "is too large"),
        (r"noise_patterns: ['\w{1,40}x{1,30}']", "is too large"),
        (f"noise_patterns: ['{'x' * 1001}']", "more than 1,000 characters"),
        ("name: &a [*a]", "`name` must be a string"),
        ("? [a, b]\n: c", "invalid YAML"),
    ]:
        with subtests.test(head=head):
            with pytest.raises(BadUsage) as raised:
                parse_template_file(f"---\n{head}\n---\nBody.", PATH)
            assert "folder/own.md" in str(raised.value)
            assert message in str(raised.value)
            assert "\n" not in str(raised.value)


def test_front_matter_without_an_end_is_rejected_with_its_line() -> None:
    with pytest.raises(BadUsage, match="line 2: front matter begins here"):
        parse_template_file("\n---\nnoise_patterns: [x]\n\nBody.", PATH)


def test_an_unknown_key_is_a_warning_that_names_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        template = parse_template_file("---\nnoise_pattern: [x]\nname: own\n---\nBody.", PATH)
    assert template.noise_patterns == ()
    assert "unknown key `noise_pattern`" in caplog.text
    assert "noise_patterns" in caplog.text


def put(folder: Path, name: str, text: str) -> TemplateResolver:
    templates = folder / TEMPLATES_FOLDER
    templates.mkdir(parents=True)
    (templates / name).write_text(text)
    return TemplateResolver(search_folders(folder, folder / "home"))


def test_a_config_returns_instructions_and_patterns_of_its_template(tmp_path: Path) -> None:
    templates = put(tmp_path, "reviews.md", TEMPLATE)
    config = ExtractionConfig(preprocessing_prompt="reviews.md")
    assert config.resolve_prompt(templates) == parse_template_file(TEMPLATE, PATH).prompt
    assert config.template(templates) == parse_template_file(TEMPLATE, PATH)


def test_a_template_with_patterns_only_has_no_instructions(tmp_path: Path) -> None:
    templates = put(tmp_path, "only.md", "---\nnoise_patterns: [x]\n---\n")
    config = ExtractionConfig(preprocessing_prompt="only.md")
    assert config.resolve_prompt(templates) is None
    assert config.template(templates) == Template("only", "", ("x",))


def test_empty_front_matter_without_instructions_is_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    templates = put(tmp_path, "bare.md", "---\nname: bare\n---\n\n")
    with caplog.at_level(logging.WARNING):
        assert ExtractionConfig(preprocessing_prompt="bare.md").template(templates) is None
    assert "bare.md` has neither instructions nor noise patterns" in caplog.text


@pytest.mark.parametrize("nothing", [None, False, True, "missing.md"])
def test_without_a_template_there_are_no_patterns(
    nothing: bool | str | None, tmp_path: Path
) -> None:
    templates = TemplateResolver(search_folders(tmp_path, tmp_path))
    assert ExtractionConfig(preprocessing_prompt=nothing).template(templates) is None


def test_inline_instructions_are_used_verbatim_and_have_no_front_matter() -> None:
    inline = "---\nnoise_patterns: [x]\n---"
    config = ExtractionConfig(preprocessing_prompt=inline)
    templates = TemplateResolver([])
    assert config.resolve_prompt(templates) == inline
    assert config.template(templates) == Template("inline", inline)
