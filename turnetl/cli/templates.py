"""Templates and ontologies: which there are, what they say, what is wrong with them."""

from typing import Annotated

from cyclopts import App, Parameter

from turnetl import console
from turnetl.cli.options import MODEL_COMMANDS, NO_COMMON, CommonOptions

Name = Annotated[str, Parameter(help="Only these; all if none is named.")]

app = App(
    name="templates",
    help="What steers the model: which files there are, and which win.",
    group=MODEL_COMMANDS,
)


@app.command(name="list")
def list_(*, common: CommonOptions = NO_COMMON) -> int:
    """List the templates and ontologies, where each comes from, what it costs, who uses it."""
    from turnetl import pipeline as turnetl
    from turnetl.report import templates as shown

    entries = turnetl.templates(common.settings())
    console.print_result(shown.table(entries), shown.as_json(entries), as_json=common.json)
    return console.DONE


@app.command
def show(name: str, /, *, common: CommonOptions = NO_COMMON) -> int:
    """Print the very text that a model gets of a template or an ontology.

    Args:
        name: as `turnetl templates list` has it.
    """
    from turnetl import pipeline as turnetl
    from turnetl.report import templates as shown

    (entry,) = turnetl.templates(common.settings(), (name,))
    text = shown.text(entry)
    console.print_result(text, shown.as_json((entry,)), as_json=common.json)
    return console.DONE


@app.command
def check(*names: Name, common: CommonOptions = NO_COMMON) -> int:
    """Say what is wrong with templates and ontologies; exit code 1 if one cannot be used."""
    from turnetl import pipeline as turnetl
    from turnetl.report import templates as shown

    entries = turnetl.templates(common.settings(), names)
    console.print_result(shown.findings(entries), shown.as_json(entries), as_json=common.json)
    return shown.exit_code(entries)
