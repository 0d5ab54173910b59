"""Groups of options, which Typer does not know: it wants every option as a parameter of the command itself."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature
from typing import Any, get_type_hints


def grouped(command: Callable[..., int]) -> Callable[..., int]:
    """`command` for Typer: a parameter whose type is a dataclass becomes its fields, which are options with defaults.

    The result takes keyword arguments only. What is not given has its default.
    """
    types = get_type_hints(command, include_extras=True)
    parameters: list[Parameter] = []
    groups: dict[str, Any] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        if is_dataclass(types[name]):
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
        for name, group in groups.items():
            given = {field.name: values.pop(field.name) for field in fields(group) if field.name in values}
            values[name] = group(**given)
        return command(**values)

    spread.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    spread.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return spread
