"""
Of a replay or a live recording one page to read and to print.

    from mime_motor_ros.offline import report

    made = report('recording')
    made.peaks['wheel.spin_rad_s'].size
    made.write('recording.html')
"""

from .reporting import Report, report

__all__ = ['Report', 'report']
