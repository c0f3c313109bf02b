import logging
from pathlib import Path

import pytest

from flows.warnings import each_once
from turnetl.extraction.config import ExtractionConfig
from turnetl.extraction.templates import TemplateResolver


def test_what_every_stage_finds_wrong_with_a_template_is_heard_once_a_run(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    config = ExtractionConfig(preprocessing_prompt="gone.md")
    for _run in range(2):
        caplog.clear()
        with each_once():
            for _stage in range(3):
                config.preprocessor(TemplateResolver([tmp_path]))
            config.preprocessor(TemplateResolver([]))
        assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2
