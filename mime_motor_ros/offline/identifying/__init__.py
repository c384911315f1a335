"""
The parameters of a motor out of recordings: `identify`, and the program motor_identify.

    from mime_motor_ros.offline.identifying import identify, read

    found = identify(read('log.csv', {'torque': 'u', 'speed': 'w'}), known={'inertia': 0.02})
    found.values['damping'], found.standard_errors['damping']
"""

from ...lazily import names_of

WHERE = {
    'Identified': '.identifying',
    'identify': '.identifying',
    'IdentifyError': '.identifying',
    'Log': '.logs',
    'read': '.logs',
    'RecordingError': '..recording',
}
__all__ = list(WHERE)
__getattr__, __dir__ = names_of(__name__, WHERE)
