"""The panel in a real browser, with a real node: what is set there reaches the motor."""

from io import BytesIO
import os
from pathlib import Path
import re
import signal
import socket
import subprocess
import sys
import time

from mime_motor_ros.watch import Watch
import numpy as np
import pytest
import rclpy

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'test'))
import browser  # noqa: E402

pytest.importorskip('viser', reason='needs the package viser')
pytestmark = [
    pytest.mark.ros,
    pytest.mark.browser,
    pytest.mark.skipif(bool(browser.missing()), reason=browser.missing() or 'there is one'),
]
NODE = ['main', '--ros-args', '-p', 'world_frame:=base_link', '-p', 'rate_source:=zero']
PATIENCE = 60.0  # s; for machines that are busy with something else


def started(module, *args):
    return subprocess.Popen(
        [sys.executable, '-m', f'mime_motor_ros.{module}', *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, 'PYTHONUNBUFFERED': '1'},
    )


def ended(process):
    """Ask a process to end; return its code and what it complained of."""
    process.send_signal(signal.SIGINT)
    try:
        _, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return process.returncode, err


@pytest.fixture
def start():
    processes = []

    def start(module, *args):
        processes.append(started(module, *args))
        return processes[-1]

    yield start
    for process in processes:
        if process.poll() is None:
            process.kill()
            process.communicate()


def address(view):
    return re.fullmatch(r'motor_view: (http://127\.0\.0\.1:\d+)\n', view.stdout.readline())[1]


def until(reached, what):
    end = time.monotonic() + PATIENCE
    while not (found := reached()):
        assert time.monotonic() < end, what
        time.sleep(0.1)
    return found


@pytest.mark.timeout(400)
def test_the_slider_turns_the_wheel_of_a_node_that_comes_late(start, context):
    view = start('view', '--port', '0')
    other = start('view', '--port', '0')  # two at once
    with browser.opened(address(view)) as (page, wrong):
        page.get_by_text('waiting for the node motor').wait_for()
        node = start(*NODE)
        page.get_by_text('send commands').wait_for()
        peer = rclpy.create_node('witness', context=context)
        watch = Watch(peer, 'motor')

        def spin():
            watch.poll()
            return next((motor.spin for motor in watch.view().motors), None)

        until(lambda: spin() is not None, 'a spin')
        assert spin() == 0.0
        page.get_by_label('send commands').click()
        slider = page.get_by_role('slider').first
        slider.focus()
        slider.press('End')
        until(lambda: spin() > 5.0, 'the wheel turns')
        slider.press('Home')
        until(lambda: spin() < -5.0, 'the wheel turns the other way')

        picture = np.asarray(image(page.screenshot()))
        scene = picture[:, : picture.shape[1] // 2]
        assert len(np.unique(scene.reshape(-1, scene.shape[-1]), axis=0)) > 100
        assert scene.std() > 5.0

        page.get_by_label('send commands').click()  # no command: torque 0 after the timeout
        page.get_by_role('button', name='reset').click()
        until(lambda: abs(spin()) < 0.5, 'the wheel is at rest again')
        page.get_by_role('button', name='pause').click()
        page.get_by_text('made its last step').wait_for()
        page.get_by_role('button', name='go on').click()
        page.get_by_text('stepping').first.wait_for()

        page.get_by_role('button', name='disable').click()
        page.get_by_text('switched off by ~/enable').wait_for()
        page.get_by_role('button', name='enable').click()  # its answer stands in the corner
        page.get_by_text('enable: commands act').wait_for()
        mode = page.get_by_role('combobox', name='wheel', exact=True)
        mode.click()
        page.get_by_role('option', name='voltage', exact=True).click()
        page.get_by_text('without an armature').first.wait_for()  # refused
        until(lambda: mode.input_value() == 'torque', 'the old mode is shown again')

        node.kill()
        node.communicate()
        page.get_by_text('waiting for the node motor').wait_for()
        node = start(*NODE)
        page.get_by_text('stepping').first.wait_for()
        peer.destroy_node()
        assert wrong == []
    assert [ended(one) for one in (view, other)] == [(0, '')] * 2
    assert ended(node)[0] == 0


def image(data):
    from PIL import Image

    return Image.open(BytesIO(data)).convert('RGB')


def test_a_port_in_use_is_said_in_one_line(start):
    with socket.create_server(('127.0.0.1', 0)) as taken:
        port = taken.getsockname()[1]
        view = start('view', '--port', str(port))
        out, err = view.communicate(timeout=PATIENCE)
    assert (view.returncode, out) == (1, '')
    assert err == (
        f'motor_view: port must be one that is free, got {port} of 127.0.0.1: Address already '
        'in use. Choose another with --port, or none.\n'
    )
