"""
The parameter services of a node, for requests that would end one of rclpy's own.

rclpy raises in its executor for a value of no known type, and takes a request of any length,
during which the node answers nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rcl_interfaces.msg import ParameterType, SetParametersResult
from rclpy.parameter_service import ParameterService

MOST = 1000
"""Parameters in one request."""


class ParameterServices(ParameterService):
    """What rclpy's are, and each request that is none is refused with a line."""

    def _set_parameters_callback(self, request: Any, response: Any) -> Any:
        if wrong := _too_many(request.parameters):
            response.results = [wrong]
            return response
        for message in request.parameters:
            if wrong := _unknown([message]):
                response.results.append(wrong)
                continue
            one = type(request)(parameters=[message])
            response = super()._set_parameters_callback(one, response)
        return response

    def _set_parameters_atomically_callback(self, request: Any, response: Any) -> Any:
        if wrong := _too_many(request.parameters) or _unknown(request.parameters):
            response.result = wrong
            return response
        return super()._set_parameters_atomically_callback(request, response)


def _too_many(messages: Sequence[Any]) -> SetParametersResult | None:
    if len(messages) <= MOST:
        return None
    return _refused(f'a request must have at most {MOST} parameters, got {len(messages)}.')


def _unknown(messages: Sequence[Any]) -> SetParametersResult | None:
    for message in messages:
        kind = message.value.type
        if kind > ParameterType.PARAMETER_STRING_ARRAY:
            return _refused(f'{message.name} must have a known type of parameter, got {kind}.')
    return None


def _refused(reason: str) -> SetParametersResult:
    return SetParametersResult(successful=False, reason=reason)
