"""Commands about templates and ontologies."""

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from cyclopts.validators import Number

from turnetl import console
from turnetl.base.clock import now
from turnetl.base.exit_code import ExitCode
from turnetl.cli.options import (
    NO_COMMON,
    BudgetOption,
    CommonOptions,
    ExtractorOption,
    PathOption,
    budget_settings,
    read_assumed_time,
)

app = App(name="templates", help="The instructions and ontologies for the model.")


@app.command(name="list")
def list_(*, common: CommonOptions = NO_COMMON) -> int:
    """List templates and ontologies: which file is used, its tokens per turn, its users."""
    from turnetl import pipeline
    from turnetl.views import templates as view

    found = pipeline.templates(common.settings())
    console.print_result(view.view(found.templates), found, as_json=common.json)
    return ExitCode.DONE


@app.command
def show(name: str, /, *, common: CommonOptions = NO_COMMON) -> int:
    """Print the text that the model receives from a template or an ontology.

    Args:
        name: Name, as `turnetl templates list` prints it.
    """
    from turnetl import pipeline
    from turnetl.views import templates as view

    found = pipeline.templates(common.settings(), (name,))
    (entry,) = found.templates
    console.print_result(view.text(entry), found, as_json=common.json)
    return ExitCode.DONE


@app.command
def copy(name: str, /, *, output: PathOption = None, common: CommonOptions = NO_COMMON) -> int:
    """Copy a template or an ontology to your own folder, to change it. Overwrites nothing.

    Args:
        name: Name, as `turnetl templates list` prints it.
        output: Another file [default: its name in ~/.graphiti/templates].
    """
    from turnetl import pipeline
    from turnetl.views import templates as view

    path, found = pipeline.copy_template(common.settings(), name, output, Path.home())
    console.print_result(view.copied(path, name), found, as_json=common.json)
    return ExitCode.DONE


@app.command
def check(
    *names: Annotated[str, Parameter(help="Only these [default: all].")],
    common: CommonOptions = NO_COMMON,
) -> int:
    """Print the diagnostics of templates and ontologies; exit code 1 if one cannot be used."""
    from turnetl import pipeline
    from turnetl.views import templates as view

    found = pipeline.templates(common.settings(), names)
    console.print_result(view.diagnostics(found.templates), found, as_json=common.json)
    return view.exit_code(found.templates)


@app.command
def compare(
    first: str,
    second: str,
    /,
    *,
    group: str | None = None,
    sample: Annotated[int, Parameter(validator=Number(gte=1))] = 20,
    seed: int = 0,
    expect: PathOption = None,
    output: PathOption = None,
    budget: BudgetOption = (),
    extractor: ExtractorOption = None,
    assume_time: str | None = None,
    common: CommonOptions = NO_COMMON,
) -> int:
    """Extract the same turns with two templates, side by side. The graph stays as it is.

    Args:
        first: Name of a template, path of a file, or none.
        second: Another one.
        group: The group of the turns; optional if the lake has one group only.
        sample: Turns, drawn by kind and length; each is paid for twice, up to --budget.
        seed: Equal seeds draw equal turns.
        expect: A table separated by tabs with the columns `turn` and `fact`: facts to be found.
        output: Write the comparison into this file, too: one HTML page.
        assume_time: Time of turns without one: an ISO time, or `mtime` for that of the file.
    """
    from turnetl.evaluation.run_compare import ComparisonOptions, compare_templates
    from turnetl.report_pages.own_file import check_page, write_page
    from turnetl.report_pages.template_page import template_page
    from turnetl.views import templates as view

    if output is not None:
        check_page(output)
    settings = common.settings(extractor=extractor, **budget_settings(budget))
    assumed = read_assumed_time(assume_time)
    options = ComparisonOptions(group, sample, seed, expect, assumed)
    report = common.executed(
        compare_templates, first, second, settings, options, now, directory=Path.cwd()
    )
    if output is not None:
        write_page(output, template_page(report))
    console.print_messages(view.comparison_messages(report))
    console.print_result(view.comparison_view(report), report, as_json=common.json)
    return report.exit_code
