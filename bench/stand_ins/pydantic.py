"""Enough of pydantic to hold configurations that are known to be right, for a machine without it (see gpu.sh).

Values are taken as they are: of all checks only the validators that a class brings itself are run, since they also
derive values. The real package comes first on the path wherever it is installed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

UNSET: Any = object()


class ValidationError(ValueError):
    pass


@dataclass(frozen=True)
class BeforeValidator:
    convert: Callable[[Any], Any]


@dataclass(frozen=True)
class AfterValidator:
    convert: Callable[[Any], Any]


@dataclass(frozen=True)
class PlainSerializer:
    convert: Callable[[Any], Any]


@dataclass(eq=False)  # which hashes by identity: fields stand in type hints
class FieldInfo:
    default: Any = UNSET
    default_factory: Callable[[], Any] | None = None

    def get_default(self) -> Any:
        return self.default_factory() if self.default_factory else self.default


def Field(default: Any = UNSET, *, default_factory: Callable[[], Any] | None = None, **_: Any) -> Any:  # noqa: N802
    return FieldInfo(default, default_factory)


def ConfigDict(**settings: Any) -> dict[str, Any]:  # noqa: N802
    return settings


def field_validator(*names: str, mode: Literal["before", "after"] = "after") -> Callable[[Any], Any]:
    return lambda method: _mark(method, fields=names, mode=mode)


def model_validator(*, mode: Literal["before", "after"]) -> Callable[[Any], Any]:
    return lambda method: _mark(method, fields=(), mode=mode)


def _mark(method: Any, **marks: Any) -> Any:
    vars(getattr(method, "__func__", method)).update(marks)
    return method


class BaseModel:
    model_fields: dict[str, FieldInfo]

    def __init_subclass__(cls) -> None:
        cls.model_fields = dict(getattr(cls, "model_fields", {}))
        for name in vars(cls).get("__annotations__", {}):
            if name != "model_config":
                value = vars(cls).get(name, UNSET)
                cls.model_fields[name] = value if isinstance(value, FieldInfo) else FieldInfo(value)

    def __init__(self, **values: Any) -> None:
        for method in self._validators("before"):
            values = method(values)
        for name, field in self.model_fields.items():
            value = values[name] if name in values else field.get_default()
            for method in self._validators("before", name):
                value = method(value)
            vars(self)[name] = _converted(value, self._hints()[name])
        for method in self._validators("after"):
            method(self)

    @classmethod
    @functools.cache
    def _hints(cls) -> dict[str, Any]:
        return get_type_hints(cls, include_extras=True)

    @classmethod
    def _validators(cls, mode: str, field: str | None = None) -> list[Any]:
        """Those of the whole class, or of one of its fields."""
        found = []
        for parent in reversed(cls.__mro__):
            for name, method in vars(parent).items():
                marks = getattr(getattr(method, "__func__", method), "__dict__", {})
                is_meant = field in marks.get("fields", ()) if field else marks.get("fields") == ()
                if marks.get("mode") == mode and is_meant:
                    found.append(getattr(cls, name))
        return found

    @classmethod
    def model_validate(cls, values: Any) -> Any:
        return values if isinstance(values, cls) else cls(**values)

    def model_copy(self, *, update: dict[str, Any]) -> Any:
        copied = object.__new__(type(self))
        vars(copied).update(vars(self) | update)
        return copied

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return {name: _dumped(getattr(self, name), self._hints()[name]) for name in self.model_fields}

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)


def _metadata(hint: Any) -> list[Any]:
    if get_origin(hint) is not Annotated:
        return []
    inner, *metadata = get_args(hint)
    return [*_metadata(inner), *metadata]


def _converted(value: Any, hint: Any) -> Any:
    for one in _metadata(hint):
        if isinstance(one, BeforeValidator | AfterValidator):
            value = one.convert(value)
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return hint.model_validate(value)
    return tuple(value) if get_origin(hint) is tuple else value


def _dumped(value: Any, hint: Any) -> Any:
    for one in _metadata(hint):
        if isinstance(one, PlainSerializer):
            value = one.convert(value)
    return value.model_dump() if isinstance(value, BaseModel) else value
