"""SROS 2: nodes in enclaves of one keystore hear each other, and nobody else does."""

import os
from pathlib import Path
import shutil
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.ros

ROOT = Path(__file__).resolve().parents[2]
MOTOR = ['mime_motor_ros.main', '-p', 'world_frame:=base_link', '-p', 'rate_source:=zero']
EAR = """
import sys, time
import rclpy
from sensor_msgs.msg import JointState
rclpy.init()
node = rclpy.create_node('ear')
heard = []
node.create_subscription(JointState, 'joint_states', heard.append, 10)
end = time.monotonic() + float(sys.argv[1])
while not heard and time.monotonic() < end:
    rclpy.spin_once(node, timeout_sec=0.1)
print(bool(heard))
"""
GOVERNANCE = """<dds><domain_access_rules><domain_rule>
<domains><id>DOMAIN</id></domains>
<allow_unauthenticated_participants>false</allow_unauthenticated_participants>
<enable_join_access_control>true</enable_join_access_control>
<discovery_protection_kind>ENCRYPT</discovery_protection_kind>
<liveliness_protection_kind>ENCRYPT</liveliness_protection_kind>
<rtps_protection_kind>SIGN</rtps_protection_kind>
<topic_access_rules><topic_rule><topic_expression>*</topic_expression>
<enable_discovery_protection>true</enable_discovery_protection>
<enable_liveliness_protection>true</enable_liveliness_protection>
<enable_read_access_control>true</enable_read_access_control>
<enable_write_access_control>true</enable_write_access_control>
<metadata_protection_kind>ENCRYPT</metadata_protection_kind>
<data_protection_kind>ENCRYPT</data_protection_kind>
</topic_rule></topic_access_rules></domain_rule></domain_access_rules></dds>"""
PERMISSIONS = """<dds><permissions><grant name="{0}"><subject_name>CN={0}</subject_name>
<validity><not_before>2020-01-01T00:00:00</not_before>
<not_after>2100-01-01T00:00:00</not_after></validity>
<allow_rule><domains><id>DOMAIN</id></domains>
<publish><topics><topic>*</topic></topics></publish>
<subscribe><topics><topic>*</topic></topics></subscribe></allow_rule>
<default>DENY</default></grant></permissions></dds>"""


def openssl(*words, cwd):
    subprocess.run(['openssl', *words], cwd=cwd, check=True, capture_output=True)


def sign(text, name, folder):
    """Write a text into a folder of the keystore, signed by its authority."""
    (folder / 'plain.xml').write_text(text.replace('DOMAIN', os.environ['ROS_DOMAIN_ID']))
    openssl(
        *('smime', '-sign', '-text', '-in', 'plain.xml', '-out', name),
        *('-signer', '../../ca.pem', '-inkey', '../../ca.key'),
        cwd=folder,
    )


@pytest.fixture(scope='module')
def keystore(tmp_path_factory):
    """Make what `ros2 security create_enclave` makes for /motor and /ear, as far as it is read."""
    if shutil.which('openssl') is None:
        pytest.skip('needs openssl')
    root = tmp_path_factory.mktemp('keystore')
    key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '9']
    openssl(
        'req', '-x509', *key, '-subj', '/CN=ca', '-keyout', 'ca.key', '-out', 'ca.pem', cwd=root
    )
    for name in ('motor', 'ear'):
        folder = root / 'enclaves' / name
        folder.mkdir(parents=True)
        for authority in ('identity_ca', 'permissions_ca'):
            shutil.copy(root / 'ca.pem', folder / f'{authority}.cert.pem')
        subject = f'/CN=\\/{name}'  # the name is /motor, with its slash
        openssl(
            *('req', *key, '-subj', subject, '-keyout', 'key.pem', '-out', 'request.pem'),
            cwd=folder,
        )
        openssl(
            *('x509', '-req', '-in', 'request.pem', '-out', 'cert.pem', '-days', '9'),
            *('-CA', '../../ca.pem', '-CAkey', '../../ca.key', '-set_serial', '1'),
            cwd=folder,
        )
        sign(GOVERNANCE, 'governance.p7s', folder)
        sign(PERMISSIONS.format(f'/{name}'), 'permissions.p7s', folder)
    return root


def secured(keystore):
    return os.environ | {
        'ROS_SECURITY_ENABLE': 'true',
        'ROS_SECURITY_STRATEGY': 'Enforce',
        'ROS_SECURITY_KEYSTORE': str(keystore),
    }


def hears(seconds, env, *arguments):
    """Return whether a peer in a process of its own hears the motor, or skip and say why."""
    command = [sys.executable, '-c', EAR, str(seconds), *arguments]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    if "doesn't have the security libraries" in done.stderr:
        pytest.skip('the Fast DDS here was built without security (-DSECURITY=ON)')
    assert done.returncode == 0, done.stderr
    return done.stdout == 'True\n'


def test_only_a_peer_with_an_enclave_of_the_keystore_hears_the_node(keystore):
    module, *rest = MOTOR
    process = subprocess.Popen(
        [sys.executable, '-m', module, '--ros-args', '--enclave', '/motor', *rest],
        cwd=ROOT, env=secured(keystore), stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert hears(20.0, secured(keystore), '--ros-args', '--enclave', '/ear')
        assert not hears(3.0, os.environ)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=20) == (None, '')
        assert process.returncode == 0
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize('module', ['main', 'demo_mount', 'top', 'check'])
def test_an_enclave_that_is_not_there_is_one_line(module, tmp_path):
    """It is looked for before the middleware: so this is also seen where that has no security."""
    done = subprocess.run(
        [sys.executable, '-m', f'mime_motor_ros.{module}', '--ros-args', '--enclave', '/none'],
        cwd=ROOT, env=secured(tmp_path), capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    folder = tmp_path / 'enclaves' / 'none'
    name, _, said = done.stderr.partition(': ')
    assert said == f"SECURITY ERROR: directory '{folder}' does not exist.\n"
    assert (done.returncode, done.stdout) == (2 if name == 'motor_check' else 1, '')
