"""Be ``motor_check``, as ``python -m mime_motor_ros.check``."""

from .command import run

run()
