"""A configuration as text: read from TOML, with each mistake in one line; written; compared; described.

A key that does not exist is an error that names the nearest one.
"""

from __future__ import annotations

import difflib
import itertools
import json
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

import tomli_w
from pydantic import BaseModel, ValidationError

from tfmt.config import MAY_CHANGE, RunConfig
from tfmt.errors import ConfigError
from tfmt.units import Amount

Differences = dict[str, tuple[object, object]]  # by dotted key: the value before, and the one now


def load_config(path: Path, overrides: Sequence[str] = ()) -> RunConfig:
    """Read a TOML file, apply `section.key=value` overrides, check everything; raises ConfigError."""
    if not path.is_file():
        raise ConfigError(f"{path}: no such configuration file")
    try:
        text = path.read_bytes().decode("utf-8-sig")
        values = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not TOML: {error}") from error
    for override in overrides:
        _apply(values, override)
    return _validate(values, path, text, overrides)


def save_config(config: RunConfig, path: Path) -> None:
    """Write every key with its resolved value."""
    path.write_text(as_toml(config), encoding="utf-8")


def as_toml(config: RunConfig) -> str:
    return tomli_w.dumps(config.model_dump(mode="json", exclude_none=True))


def heading(path: Path) -> str:
    """The comment that a configuration file begins with, line ends included: what it is, and what it reaches."""
    with path.open(encoding="utf-8-sig", newline="\n") as lines:
        return "".join(itertools.takewhile(lambda line: line.startswith("#"), lines))


def differences(old: RunConfig, new: RunConfig) -> Differences:
    """Dotted keys whose values differ, with both values."""
    old_values, new_values = dict(_flatten(old.model_dump())), dict(_flatten(new.model_dump()))
    return {key: (old_values[key], new_values[key]) for key in old_values if old_values[key] != new_values[key]}


def describe() -> str:
    """The table of docs/configuration.md: each key's default, bounds or choices, if it may change, and meaning."""
    rows = ["| key | default | allowed | may change | meaning |", "|---|---|---|---|---|"]
    for key, field in _fields(RunConfig):
        default = field.get_default(call_default_factory=True)
        # JSON is the same as TOML for the kinds of value used here
        shown = json.dumps(default.written() if isinstance(default, Amount) else default)
        may_change = "yes" if key in MAY_CHANGE else ""
        rows.append(f"| `{key}` | `{shown}` | {_allowed(field)} | {may_change} | {field.description} |")
    return "\n".join(rows) + "\n"


def _apply(values: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    if not equals or not key.strip():
        raise ConfigError(f"--set {override}: expected KEY=VALUE, such as --set train.max_steps=200")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text.strip()  # a bare word is a string
    *sections, name = key.strip().split(".")
    for section in sections:
        values = values.setdefault(section, {})
        if not isinstance(values, dict):
            raise ConfigError(f"--set {override}: {section} is a value, not a section")
    values[name] = value


def _validate(values: dict[str, Any], path: Path, text: str, overrides: Sequence[str]) -> RunConfig:
    try:
        return RunConfig.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        key = _key_at(first["loc"])
        set_keys = [override.partition("=")[0].strip() for override in overrides]
        line = _line_of(text, key) if key else None
        if key in set_keys or (not line and any(name.startswith(f"{key}.") for name in set_keys)):
            where = f"--set {key}"
        else:
            where = f"{path}:{line}: {key}" if line else f"{path}: {key}" if key else str(path)
        raise ConfigError(f"{where}{_explain(error.errors(), key)}") from error


def _key_at(location: tuple[int | str, ...]) -> str:
    """The dotted key of a pydantic location, which goes on with list positions and names of union members."""
    parts: list[str] = []
    section: Any = RunConfig
    for part in location:
        if not (isinstance(section, type) and issubclass(section, BaseModel)):
            break
        parts.append(str(part))
        section = section.model_fields[str(part)].annotation if part in section.model_fields else None
    return ".".join(parts)


def _explain(errors: Sequence[Any], key: str) -> str:
    error = errors[0]
    if error["type"] == "extra_forbidden":
        known = [name for name, _ in _fields(RunConfig)] + list(RunConfig.model_fields)
        near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
        if not near:  # the right name in the wrong section
            near = [name for name in known if name.rpartition(".")[2] == key.rpartition(".")[2]]
        return f": unknown key; did you mean {near[0]}?" if near else ": unknown key; see docs/configuration.md"
    if error["type"] == "value_error":
        return f": {error['msg'].removeprefix('Value error, ')}"
    messages = [other["msg"] for other in errors if _key_at(other["loc"]) == key]  # one for each member of a union
    lowered = [f"{message[0].lower()}{message[1:]}" for message in dict.fromkeys(messages)]
    return f" = {error['input']!r}: {' or '.join(lowered)}"


def _line_of(text: str, key: str) -> int | None:
    """Line number of a dotted key in TOML text, where it stands on a line of its own under its section."""
    section, _, name = key.rpartition(".")
    current = ""
    for number, line in enumerate(text.split("\n"), start=1):
        stripped = line.strip()
        if stripped.startswith("["):
            current = stripped.partition("]")[0].lstrip("[").strip()
        left = stripped.partition("=")[0].strip()
        if (
            (current == section and left == name)
            or (current == "" and left == key)
            or (not section and current == name)
        ):
            return number
    return None


def _fields(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _fields(field.annotation, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", field


def _flatten(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, object]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _allowed(field: Any) -> str:
    """Choices and bounds, also those inside a union or a tuple."""
    if field.annotation is Amount:
        return "updates, or with a unit"
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<", "multiple_of": "multiple of"}
    allowed: list[str] = []

    def collect(annotation: Any, metadata: Sequence[Any]) -> None:
        for constraint in metadata:
            bounds = [f"{signs[name]} {getattr(constraint, name)}" for name in signs if hasattr(constraint, name)]
            inner = getattr(constraint, "metadata", [])  # a Field inside Annotated
            allowed.extend(bounds)
            collect(None, inner)
        for inside in get_args(annotation):
            if isinstance(inside, str):
                allowed.append(f"`{inside}`")
            elif inside is not Ellipsis:
                collect(inside, getattr(inside, "__metadata__", ()))

    collect(field.annotation, field.metadata)
    return ", ".join(dict.fromkeys(allowed))
