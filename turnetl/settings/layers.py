"""The values of each source, and which source a setting is from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from turnetl.base.setting_values import SettingSource
from turnetl.settings.sources import ENV_PREFIX, NEO4J_NAMES, SEPARATOR, merged


@dataclass(frozen=True, slots=True)
class Layer:
    """The values of one source."""

    source: SettingSource
    values: Mapping[str, Any]
    """Nested by section."""
    path: Path | None = None
    """Of a config file."""
    is_fallback: bool = False
    """The variables are those of other programs."""

    def origin(self, setting: Sequence[str]) -> str | None:
        """Return the variable or the file that sets a setting."""
        if self.path is not None:
            return str(self.path)
        if self.source != SettingSource.ENVIRONMENT:
            return None
        if self.is_fallback:
            return NEO4J_NAMES[setting[0]]
        return ENV_PREFIX + SEPARATOR.join(_given(self.values, setting)).upper()

    def has(self, setting: Sequence[int | str]) -> bool:
        """Whether the source sets a setting, or a section of it."""
        return has(self.values, setting)


def merge_layers(layers: Sequence[Layer]) -> dict[str, Any]:
    """Return the values of all sources, of which the first ones win."""
    values: dict[str, Any] = {}
    for layer in reversed(layers):
        values = merged(values, layer.values)
    return values


def has(values: Any, place: Sequence[int | str]) -> bool:
    """Whether a source sets this place. Steps below a value are pydantic's own and ignored."""
    if not place or not isinstance(values, Mapping):
        return True
    return place[0] in values and has(values[place[0]], place[1:])


def _given(values: Any, setting: Sequence[str]) -> list[str]:
    """Return the steps to the value that the source gives, which may be that of a section."""
    steps = []
    for step in setting:
        if not isinstance(values, Mapping):
            break
        steps.append(step)
        values = values[step]
    return steps
