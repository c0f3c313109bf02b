"""Warnings of a run."""

import logging
from pathlib import Path

import pytest

from flows.run_log import each_once
from turnetl.extraction.config import ExtractionConfig
from turnetl.extraction.templates import TemplateResolver


def test_a_warning_about_a_template_is_logged_once_per_run(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    config = ExtractionConfig(preprocessing_prompt="gone.md")
    for _run in range(2):
        caplog.clear()
        with each_once():
            for _stage in range(3):
                config.template(TemplateResolver([tmp_path]))
            config.template(TemplateResolver([]))
        assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2
