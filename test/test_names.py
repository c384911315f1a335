"""Names of topics, as ROS resolves them."""

from mime_motor_ros.errors import MotorError
from mime_motor_ros.names import names
import pytest


@pytest.mark.parametrize(
    ('remaps', 'topic', 'full'),
    [
        ([], 'imu/data', '/imu/data'),
        ([], '/tf', '/tf'),
        ([], '~/wheel/spin', '/motor/wheel/spin'),
        (['__ns:=/robot/left'], 'imu/data', '/robot/left/imu/data'),
        (['__ns:=/robot', '__node:=wheels'], '~/commands', '/robot/wheels/commands'),
        (['__ns:=/robot'], '/tf', '/tf'),
        (['imu/data:=/imu'], 'imu/data', '/imu'),
        (['imu/data:=imu', '__ns:=/robot'], 'imu/data', '/robot/imu'),
        (['/robot/imu/data:=/imu', '__ns:=/robot'], 'imu/data', '/imu'),
        (['~/commands:=torques'], '~/commands', '/torques'),
        (['/motor/commands:=~/efforts'], '~/commands', '/motor/efforts'),
        (['a:=b', 'a:=c', 'b:=d'], 'a', '/b'),  # the first counts, and once
        (['/tf:=/robot/tf'], '/tf', '/robot/tf'),
    ],
)
def test_a_topic_has_the_name_that_ros_gives_it(remaps, topic, full):
    assert names(remaps).full(topic) == full


@pytest.mark.parametrize('text', ['a', 'a:=', ':=b', 'a=b', '1:=b', 'a:=b c', '__ns:=robot'])
def test_what_is_no_remap_is_refused(text):
    with pytest.raises(MotorError) as error:
        names([text])
    assert str(error.value) == f"remap must be FROM:=TO, as 'imu/data:=/imu', got {text!r}."
