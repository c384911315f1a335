"""
Of a replay or a live recording one page to read and to print.

    from mime_motor_ros.offline import report

    made = report('recording')
    made.peaks['wheel.spin_rad_s'].size
    made.write('recording.html')
"""

from ...lazily import names_of

WHERE = {'Report': '.reporting', 'report': '.reporting'}
__all__ = list(WHERE)
__getattr__, __dir__ = names_of(__name__, WHERE)
