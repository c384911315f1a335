"""
How warm the winding of a motor is, and what that does: its resistance, and derating.

Pure functions of floats, no clock, no ROS, no numpy.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import expm1, inf, isfinite

from .errors import not_negative, ParameterError

ABSOLUTE_ZERO = -273.15  # [deg C]
MELTS = 1085.0  # [deg C], copper: from here on the resistance grows no more
LEAST_SHARE = 0.01  # of the resistance, however cold


@dataclass(frozen=True)
class Winding:
    """
    The winding of a motor as one warm body: its temperature, resistance and derating.

    Parameters
    ----------
    thermal_resistance : R_th [K/W], finite and >= 0
        From the winding to what is around; 0: it stays at the ambient temperature.
    thermal_capacity : C_th [J/K], finite and >= 0, not 0 with a thermal resistance
        Of the winding.
    ambient : T_a [deg C], finite
        Temperature around, and of a winding that has not been used.
    coefficient : alpha [1/K], finite and >= 0
        Of the electrical resistance; 0.00393 is copper's.
    reference : T_0 [deg C], finite
        Temperature of which the electrical resistance is told.
    limit : T_l [deg C]
        Temperature from which less torque is allowed; infinite: derating is off.
    maximum : T_m [deg C], > limit
        Temperature at which none is.

    Raises
    ------
    ParameterError
        If a value breaks its rule.

    """

    thermal_resistance: float = 0.0
    thermal_capacity: float = 0.0
    ambient: float = 25.0
    coefficient: float = 0.00393
    reference: float = 25.0
    limit: float = inf
    maximum: float = inf

    def __post_init__(self) -> None:
        for name, unit in (
            ('thermal_resistance', 'K/W'),
            ('thermal_capacity', 'J/K'),
            ('coefficient', '1/K'),
        ):
            not_negative(f'winding.{name}', getattr(self, name), unit)
        for name in ('ambient', 'reference'):
            value = getattr(self, name)
            if not (isfinite(value) and value >= ABSOLUTE_ZERO):
                rule = f'finite and >= {ABSOLUTE_ZERO:g} deg C'
                raise ParameterError(f'winding.{name}', rule, value)
        if self.thermal_resistance and not self.thermal_capacity:
            rule = '> 0 J/K where there is a thermal resistance'
            raise ParameterError('winding.thermal_capacity', rule, self.thermal_capacity)
        if not 1.0 + self.coefficient * (self.ambient - self.reference) > 0.0:
            least = self.reference - 1.0 / self.coefficient
            rule = f'> {least:g} deg C, where the electrical resistance is 0'
            raise ParameterError('winding.ambient', rule, self.ambient)
        if not self.limit >= ABSOLUTE_ZERO:
            rule = f'>= {ABSOLUTE_ZERO:g} deg C, infinite for no derating'
            raise ParameterError('winding.limit', rule, self.limit)
        if self.limit == inf:
            if self.maximum != inf:
                rule = 'infinite deg C where winding.limit is'
                raise ParameterError('winding.maximum', rule, self.maximum)
        elif not self.limit < self.maximum < inf:
            rule = f'finite and > winding.limit, which is {self.limit:g} deg C'
            raise ParameterError('winding.maximum', rule, self.maximum)

    @property
    def is_none(self) -> bool:
        """Tell whether the temperature never changes."""
        return not self.thermal_resistance


NO_WINDING = Winding()


def temperature_after(winding: Winding, temperature: float, power: float, dt: float) -> float:
    """
    Return the temperature after ``dt`` [s] of a power turned into heat [W]: exact.

    That is T+ = T_inf + (T - T_inf) exp(-dt / (R_th C_th)), T_inf = T_a + R_th P.
    """
    if not winding.thermal_resistance:
        return winding.ambient
    final = winding.ambient + winding.thermal_resistance * power
    share = -expm1(-dt / winding.thermal_resistance / winding.thermal_capacity)
    return temperature + (final - temperature) * share


def resistance(winding: Winding, at_reference: float, temperature: float) -> float:
    """
    Return the electrical resistance at a temperature, in the unit of ``at_reference``.

    The line is that of a metal; where it leaves what metals do, the nearest end of it.
    """
    line = 1.0 + winding.coefficient * (min(temperature, MELTS) - winding.reference)
    return at_reference * max(line, LEAST_SHARE)


def derating(winding: Winding, temperature: float) -> float:
    """Return the allowed share of the torque: 1 up to the limit, 0 from the maximum on."""
    if temperature <= winding.limit:
        return 1.0
    return max(0.0, (winding.maximum - temperature) / (winding.maximum - winding.limit))
