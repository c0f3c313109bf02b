"""Every setting with its value, secrets masked, and the source that it is from."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from pydantic import BaseModel, SecretStr

from turnetl.base.setting_values import ConfigReport, SettingSource, SettingValue
from turnetl.settings.layers import Layer
from turnetl.settings.loading import LoadedSettings

MASK = "********"
_GROUPS = ("extraction", "groups")


def explain(loaded: LoadedSettings) -> ConfigReport:
    """Return every setting of a run."""
    settings, folder = loaded.settings, loaded.folder
    leaves = dict(_leaves(settings)) | {("lake",): settings.lake_name}
    values = tuple(_explained(path, value, loaded.layers) for path, value in leaves.items())
    return ConfigReport(values, folder.warning if folder is not None else None)


def _explained(path: Sequence[str], value: Any, layers: Sequence[Layer]) -> SettingValue:
    name = ".".join(path)
    layer = next((layer for layer in layers if layer.has(path)), None)
    if layer is None:
        return SettingValue(name, _shown(value), SettingSource.DEFAULT)
    return SettingValue(name, _shown(value), layer.source, layer.origin(path))


def _leaves(
    value: BaseModel | Mapping[str, Any], path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every setting; the entries of a mapping one by one, and of those only what is set."""
    members = dict(value)
    if isinstance(value, BaseModel) and path[:-1] == _GROUPS:
        members = {name: members[name] for name in sorted(value.model_fields_set)}
    for name, member in members.items():
        if isinstance(member, BaseModel) or (isinstance(member, Mapping) and member):
            yield from _leaves(member, (*path, name))
        else:
            yield (*path, name), member


def _shown(value: Any) -> Any:
    """Return a value as JSON has it, without secrets."""
    match value:
        case SecretStr():
            return MASK
        case Path():
            return str(value)
        case tuple():
            return list(value)
        case Mapping():
            return dict(value)
        case str() if "://" in value:
            return masked_url(value)
        case _:
            return value


def masked_url(url: str) -> str:
    """Return a URL without its password and without the values of its query."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return MASK
    login, at, host = parts.netloc.rpartition("@")
    user, colon, _ = login.partition(":")
    # A service may take its key as the user of a URL, without a password.
    is_key = bool(user) and not colon and parts.scheme in ("http", "https")
    netloc = f"{MASK if is_key else user}{colon}{MASK if colon else ''}{at}{host}"
    names = [(name, MASK) for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    query = urlencode(names, safe="*") if names else parts.query and MASK
    return urlunsplit((parts.scheme, netloc, parts.path, query, parts.fragment))
