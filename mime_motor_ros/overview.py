"""
How ``~/overview`` is laid out: for the node that writes it, and for whoever reads it.

A message names every motor, each with `OF_MOTOR`, and last `MOUNT`, with `OF_MOUNT`. A reader
needs nothing else of the node.
"""

OF_MOTOR = ('spin', 'relative_speed', 'angle', 'torque')
"""Absolute spin [rad/s], speed [rad/s] and angle [rad] to the stator, torque [N m]."""
MOUNT = 'mount'
"""The name of what comes behind the motors."""
OF_MOUNT = tuple(
    f'{what}.{axis}'
    for what in (
        'momentum',
        'reaction.force',
        'reaction.torque',
        'mount_wrench.force',
        'mount_wrench.torque',
    )
    for axis in 'xyz'
)
"""Of all motors together, in mount axes about the mount's origin [N m s, N, N m, N, N m]."""
