"""Which share of the facts of session-level graphs the turns of a complete migration express.

    python -m benchmarks.migration_expressed [--archives FOLDER] [--extractors structural llm]

Each folder of real archives, and the samples, gets an embedded graph with a summary of each session
and its facts, in one style of writer after the other. All matched sessions are migrated, with the
structural extractor and with a model: that of `benchmarks.estimate`. Nothing of the archives is
left out, so that each comparison that refuses a cutover is wrong.
"""

import argparse
import asyncio
import logging
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import provider
from benchmarks.estimate import settings_for
from benchmarks.provider import ProviderProcess
from tests import real_archives
from tests.legacy.graphs import write_foreign_data, write_legacy_graph
from tests.legacy.sessions import legacy_sessions
from tests.legacy.styles import LegacyStyle, legacy_episode
from turnetl.base.clock import now
from turnetl.migration.comparison import GroupComparison
from turnetl.migration.plan import MigrationOptions
from turnetl.migration.run_comparison import compare_migration
from turnetl.migration.run_migration import run_migration
from turnetl.pipeline.run_options import RunOptions
from turnetl.settings import Settings

GROUP = "old-summaries"


@dataclass(frozen=True)
class ExpressedShare:
    """The comparison of one graph."""

    expressed: float
    """Share of the old facts."""
    is_refused: bool
    """By the thresholds of the settings."""


async def main(folders: Sequence[Path], extractors: Sequence[str]) -> bool:
    passed = True
    print(f"{'archives':34} {'style':11} {'extractor':10} facts expressed probes refused")
    with provider.running(responders="benchmarks.responders") as running:
        for extractor in extractors:
            found = [
                one
                for number, folder in enumerate(folders)
                if (one := await _measured(folder, number, extractor, running)) is not None
            ]
            shares = sorted(one.expressed for one in found)
            refused = sum(one.is_refused for one in found)
            middle = shares[len(shares) // 2]
            print(f"{extractor}: least {shares[0]:.0%}, median {middle:.0%}; {refused} refused")
            passed &= not refused
    return passed


async def _measured(
    archives: Path, number: int, extractor: str, running: ProviderProcess
) -> ExpressedShare | None:
    """Migrate the sessions of archives; None if their summaries have no facts."""
    style = list(LegacyStyle)[number % len(LegacyStyle)]
    sessions = legacy_sessions(archives)
    if sum(len(one.files) > 1 for one in sessions) == 0:
        return None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        url = f"ladybug://{folder / 'graph.lbug'}"
        await write_legacy_graph(url, [legacy_episode(one, style) for one in sessions], GROUP)
        await write_foreign_data(url, GROUP)
        settings = settings_for(folder / "lake", running, extractor)
        compared = await _compared(archives, settings.model_copy(update={"graph": url}))
    if compared is None:
        return None
    print(
        f"{archives.name[:34]:34} {style:11} {extractor:10} {compared.old.facts:5} "
        f"{compared.expressed:9.0%} {compared.new_hit_rate or 0:6.0%} "
        f"{'; '.join(compared.reasons)}",
        flush=True,
    )
    return ExpressedShare(compared.expressed, not compared.passed)


async def _compared(archives: Path, settings: Settings) -> GroupComparison | None:
    """Migrate, and compare; None without a fact of a matched session."""
    options = MigrationOptions(groups=(GROUP,))
    await run_migration([str(archives)], settings, options, RunOptions(), now)
    [group] = (await compare_migration(settings, now)).groups
    return group if group.old.facts else None


if __name__ == "__main__":
    logging.disable(logging.ERROR)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--archives", type=Path, default=real_archives.ARCHIVES_OR_SAMPLES)
    parser.add_argument("--extractors", nargs="*", default=["structural", "llm"])
    given = parser.parse_args()
    projects = [*sorted(one for one in given.archives.iterdir() if one.is_dir())]
    folders = [*projects, real_archives.SAMPLES]
    sys.exit(not asyncio.run(main(folders, given.extractors)))
