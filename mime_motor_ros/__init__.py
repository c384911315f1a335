"""Gyroscopic actuators riding on a real mount, simulated in step with it."""

__version__ = '0.1.0'
