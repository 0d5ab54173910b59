"""Groups of options, which Typer does not know: it wants every option as a parameter of the command itself."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature
from typing import Any, get_type_hints

import typer


class Given(frozenset[str]):
    """The names of what the user gave, whatever it is; the rest has its default."""


def grouped(command: Callable[..., int]) -> Callable[..., int]:
    """`command` for Typer: a parameter whose type is a dataclass becomes its fields, which are options with defaults.

    One whose type is Given is told which of them the user gave. The result takes keyword arguments only. What is not
    given has its default.
    """
    types = get_type_hints(command, include_extras=True)
    parameters: list[Parameter] = []
    groups: dict[str, Any] = {}
    asking: str | None = None
    for name, parameter in inspect.signature(command).parameters.items():
        if types[name] is Given:
            asking = name
            parameters.append(Parameter(_CONTEXT, Parameter.KEYWORD_ONLY, annotation=typer.Context))
        elif is_dataclass(types[name]):
            groups[name] = types[name]
            hints = get_type_hints(types[name], include_extras=True)
            parameters += [
                Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name])
                for field in fields(types[name])
            ]
        else:
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=types[name]))

    @wraps(command)
    def spread(**values: Any) -> int:
        context: typer.Context | None = values.pop(_CONTEXT, None)
        if asking is not None:
            values[asking] = Given(values if context is None else _given(context))
        for name, group in groups.items():
            given = {field.name: values.pop(field.name) for field in fields(group) if field.name in values}
            values[name] = group(**given)
        return command(**values)

    spread.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    spread.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return spread


_CONTEXT = "context"


def _given(context: typer.Context) -> Iterator[str]:
    for name in context.params:
        source = context.get_parameter_source(name)
        if source is not None and source.name != "DEFAULT":
            yield name
