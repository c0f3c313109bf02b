"""Commands about templates and ontologies."""

from typing import Annotated

from cyclopts import App, Parameter

from turnetl import console
from turnetl.cli.options import MODEL_COMMANDS, NO_COMMON, CommonOptions
from turnetl.exit_code import ExitCode

app = App(
    name="templates", help="The instructions and ontologies for the model.", group=MODEL_COMMANDS
)


@app.command(name="list")
def list_(*, common: CommonOptions = NO_COMMON) -> int:
    """List templates and ontologies: which file is used, its tokens per turn, its users."""
    from turnetl import pipeline
    from turnetl.json_output.templates import templates_output
    from turnetl.report import templates as view

    entries = pipeline.templates(common.settings())
    console.print_result(view.table(entries), templates_output(entries), as_json=common.json)
    return ExitCode.DONE


@app.command
def show(name: str, /, *, common: CommonOptions = NO_COMMON) -> int:
    """Print the text that the model receives from a template or an ontology.

    Args:
        name: Name, as `turnetl templates list` prints it.
    """
    from turnetl import pipeline
    from turnetl.json_output.templates import templates_output
    from turnetl.report import templates as view

    entries = pipeline.templates(common.settings(), (name,))
    (entry,) = entries
    console.print_result(view.text(entry), templates_output(entries), as_json=common.json)
    return ExitCode.DONE


@app.command
def check(
    *names: Annotated[str, Parameter(help="Only these [default: all].")],
    common: CommonOptions = NO_COMMON,
) -> int:
    """Print the diagnostics of templates and ontologies; exit code 1 if one cannot be used."""
    from turnetl import pipeline
    from turnetl.json_output.templates import templates_output
    from turnetl.report import templates as view

    entries = pipeline.templates(common.settings(), names)
    console.print_result(view.diagnostics(entries), templates_output(entries), as_json=common.json)
    return view.exit_code(entries)
