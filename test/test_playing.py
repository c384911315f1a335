"""A recording in the panel: what is kept of it, what is shown when; what is said of a bad one."""

from pathlib import Path
import socket

from mime_motor_ros.commanding import command_range
from mime_motor_ros.offline.playing import Film, Player
from mime_motor_ros.offline.replaying import replay
from mime_motor_ros.screen import Status, View
from mime_motor_ros.settings import settings
import pytest

pytest.importorskip('viser', reason='needs the package viser')

from mime_motor_ros.panel import Moment, Panel, words  # noqa: E402
from mime_motor_ros.view import free_port, main, ViewError  # noqa: E402


@pytest.fixture
def log(tmp_path):
    """Ten seconds of a torque of 1 mN m, a row every 10 ms."""
    file = tmp_path / 'log.csv'
    rows = ''.join(f'{0.01 * k:.2f},0.001\n' for k in range(1001))
    file.write_text(f't_s,wheel.command\n{rows}')
    return str(file)


def film(log, *rules):
    return Film.of(log, None, ['command_timeout:=0.0', *rules], [])


def test_a_film_has_the_numbers_of_the_replay(log):
    made = film(log)
    outcomes = {x.stamp_ns: x for x in replay(log, overrides={'command_timeout': 0.0})}
    assert made.seconds == pytest.approx(10.0, abs=0.05)
    assert len(made.pictures) == pytest.approx(50 * made.seconds, abs=2)
    for picture in made.pictures:
        outcome = outcomes[picture.stamp_ns]
        assert picture.motors[0].spin == outcome.steps[0].state.spin
        assert picture.motors[0].angle == outcome.steps[0].state.angle
        assert picture.mount_wrench == outcome.mount_wrench()
        assert picture.momentum == outcome.momentum()


def test_the_newest_picture_of_a_time_is_shown(log):
    made = film(log)
    start = made.pictures[0].stamp_ns
    for seconds in (0.0, 1.234, 9.0, 1e9):
        seen = made.at(seconds)
        newest = [x for x in made.pictures if x.stamp_ns - start <= round(seconds * 1e9)][-1]
        assert seen is newest


def test_a_player_goes_on_with_the_clock_and_where_it_is_sent(log):
    import viser

    server = viser.ViserServer('127.0.0.1', free_port('127.0.0.1', 0), verbose=False)
    try:
        made = film(log)
        player, panel = Player(server, made), Panel(server, None)
        assert player.moment(100.0).seconds == 0.0
        panel.show(player.moment(100.5))
        assert player.moment(101.0).seconds == pytest.approx(1.0)
        player._speed.value = '5'
        assert player.moment(101.2).seconds == pytest.approx(2.0)
        player._slider.value = 7.0
        moment = player.moment(101.3)
        assert moment.seconds == 7.0
        assert moment.view.motors[0].spin == made.at(7.0).motors[0].spin
        player._play.value = False
        assert player.moment(150.0).seconds == 7.0
        panel.show(moment)
        wheel = panel._scene.made._motors[0]
        assert wheel['ring'].visible
        assert wheel['momentum'].points[0, 1, 2] > 0.0
    finally:
        server.stop()


@pytest.mark.parametrize(
    ('args', 'said'),
    [
        (['nowhere.csv'], 'nowhere.csv'),
        (['log.csv', '-p', 'rate:=x'], 'rate must be '),
        ([str(Path(__file__).parent / 'test_playing.py')], 'test_playing.py'),
    ],
)
def test_what_cannot_be_played_is_said_in_one_line(
    args, said, capsys, restored_signals, log, monkeypatch
):
    monkeypatch.chdir(Path(log).parent)
    assert main(args) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith('motor_view: ')
    assert said in line


def test_an_address_of_another_machine_is_said():
    with pytest.raises(ViewError, match='host must be an address of this machine'):
        free_port('192.0.2.1', 0)


def test_parameters_without_a_recording_are_no_use(capsys, restored_signals):
    with pytest.raises(SystemExit):
        main(['-p', 'rate:=100.0'])
    assert '--params-file, -p and -r are for a recording: give one too.' in capsys.readouterr().err


def test_a_port_in_use_is_said_and_the_next_one_found():
    with socket.create_server(('127.0.0.1', 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ViewError) as caught:
            free_port('127.0.0.1', port)
    assert str(caught.value) == (
        f'port must be one that is free, got {port} of 127.0.0.1: Address already in use. '
        'Choose another with --port, or none.'
    )
    assert free_port('127.0.0.1', None) >= 8080


@pytest.mark.parametrize(
    ('values', 'most', 'unit'),
    [
        ({}, 1e-4 * 100.0, 'N m'),
        ({'wheel.limit.torque': 0.25}, 0.25, 'N m'),
        ({'wheel.limit.command': 0.125, 'wheel.limit.torque': 0.25}, 0.125, 'N m'),
        ({'wheel.initial_spin': -200.0}, 1e-4 * 400.0, 'N m'),
        (
            {'wheel.mode': 'velocity', 'wheel.velocity.kp': 0.1, 'wheel.limit.speed': 300.0},
            300.0,
            'rad/s',
        ),
        ({'wheel.mode': 'position', 'wheel.position.kp': 0.1}, 6.283185307179586, 'rad'),
        ({'wheel.mode': 'damper'}, 1e-4, 'N m s'),
    ],
)
def test_a_slider_reaches_as_far_as_the_motor(values, most, unit):
    (motor,) = settings(values).motors
    assert command_range(motor) == (pytest.approx(most), unit)


def test_what_is_wrong_stands_out_in_words():
    view = View(
        node='motor',
        age=0.01,
        publishers=1,
        statuses={
            'stepping': Status(0, '1000 steps/s', {'wanted rate (Hz)': '1000'}),
            'command': Status(1, 'more than 0.5 s: torque 0', {'age (s)': '0.6'}),
        },
    )
    text = words(view)
    assert '<b>motor</b>: stepping<' in text
    assert '<li>loop: ' in text
    assert '<li><b>warning</b> command: 600 ms ago: more than 0.5 s: torque 0</li>' in text
    gone = words(View(node='motor', age=3.0))
    assert '<b>motor</b>: waiting for the node motor (its last output came 3' in gone
    assert '<li>' not in gone


def test_what_others_wrote_is_shown_as_it_stands():
    told = {'imu': Status(2, '<script>alert(1)</script> {1 + 1} <base_link>', {})}
    text = words(View(node='a<b', age=0.01, publishers=1, statuses=told))
    assert '&lt;script&gt;alert(1)&lt;/script&gt; {1 + 1} &lt;base_link&gt;' in text
    assert '<b>a&lt;b</b>' in text


class Asked:
    """Keeps what a user asked for."""

    def __init__(self):
        self.calls = []

    def command(self, on, values):
        self.calls.append(('command', on, list(values)))

    def mode(self, motor, mode):
        self.calls.append(('mode', motor, mode))

    def call(self, service, data):
        self.calls.append((service, data))


def test_another_parameter_leaves_the_sliders_where_they_are():
    import viser

    server = viser.ViserServer('127.0.0.1', free_port('127.0.0.1', 0), verbose=False)
    try:
        asked = Asked()
        panel = Panel(server, asked)
        panel.show(Moment(View('motor'), settings({})))
        commands, scene = panel._commands.made, panel._scene.made
        commands._switch.value = True
        commands._sliders[0].value = 0.005
        assert asked.calls[-1] == ('command', True, [0.005])
        for value in ({'wheel.damping': 2e-5}, {'markers.torque_scale': 3.0}):
            panel.show(Moment(View('motor'), settings(value)))
        assert (panel._commands.made, panel._scene.made) == (commands, scene)
        panel.show(Moment(View('motor'), settings({'wheel.asymmetry': [1e-6] + [0.0] * 5})))
        assert panel._scene.made is scene
        assert len(asked.calls) == 2
        # A larger rotor is drawn anew; what a slider of it gives is another range, too.
        panel.show(Moment(View('motor'), settings({'wheel.inertia': 1e-3})))
        assert panel._commands.made is not commands
        assert panel._scene.made is not scene
        assert asked.calls[2:] == [('command', False, [])]
        assert panel._commands.made._switch.value is False
    finally:
        server.stop()


def test_a_mode_that_the_node_refused_is_not_shown_any_more():
    import viser

    server = viser.ViserServer('127.0.0.1', free_port('127.0.0.1', 0), verbose=False)
    try:
        asked = Asked()
        panel = Panel(server, asked)
        panel.show(Moment(View('motor'), settings({})))
        mode = panel._commands.made._modes['wheel']
        mode.value = 'velocity'
        panel.show(Moment(View('motor'), settings({})))  # asked again: it is what it was
        assert mode.value == 'torque'
        assert panel._commands.made._modes['wheel'] is mode
        assert asked.calls == []  # what we set is no wish of a user
    finally:
        server.stop()
