"""
Many steps in one call, on one core: ours against ``mujoco.rollout`` and Basilisk's wheel.

The wheel of `bench.RIG` with a torque that is held. There the mount is a free body, which the
wheel turns; here it tumbles as it is told, and the wheel with it. Basilisk is compared with where
it is installed (``pip install bsk``), with its integrator of first order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from statistics import median
import time
from typing import Any

from mime_motor_ros.demo_mount import tumble
from mime_motor_ros.model import MotorParameters, Pose
from mime_motor_ros.rollout import rollout
from mime_motor_ros.vector import rotate
import numpy as np

TARGET = 150.0  # ns a motor-step, of many motors
COUNTS = (1, 1000)
DT, TORQUE, PLACE = 1e-3, 1e-3, (0.05, 0.02, 0.1)
STEPS = {1: 20_000, 1000: 1000}  # of ours
OTHER_STEPS = {1: 2000, 1000: 10}  # they are slower
BATCHES = 7


def ours(motors: int, keep: Iterable[str] = ('angle', 'spin')) -> Callable[[], None]:
    """Return what rolls so many wheels out."""
    steps, wheels = STEPS[motors], [MotorParameters(1e-4, 1e-5, placement=Pose(PLACE))] * motors
    moves = [tumble(DT * i) for i in range(steps)]
    mount = np.array([(*pose.position, *pose.orientation) for pose, _ in moves])
    rates = np.array([rotate(pose.orientation, rate) for pose, rate in moves])
    command = np.full(steps, TORQUE)

    def batch() -> None:
        rollout(
            wheels,
            dt=DT,
            command=command,
            mount=mount,
            mount_rate=rates,
            keep=tuple(keep),
            threads=1,
        )

    return batch


def mujocos(motors: int, rig: str) -> Callable[[], None]:
    """Return what rolls as many of MuJoCo's out, from where the last call ended or from anew."""
    import mujoco
    from mujoco import rollout as theirs

    model = mujoco.MjModel.from_xml_string(rig)
    data = mujoco.MjData(model)
    data.qvel[3:6] = tumble(1.0)[1]
    state = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    mujoco.mj_getState(model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    states, torques = (
        np.tile(state, (motors, 1)),
        np.full((motors, OTHER_STEPS[motors], 1), TORQUE),
    )

    def batch() -> None:
        theirs.rollout(model, data, states, torques)

    return batch


def basilisks(motors: int) -> Callable[[], None] | None:
    """Return what takes steps of as many spacecraft with a wheel; None without Basilisk."""
    try:
        from Basilisk.architecture import messaging
        from Basilisk.simulation import reactionWheelStateEffector, spacecraft, svIntegrators
        from Basilisk.utilities import macros, simIncludeRW, SimulationBaseClass
    except ImportError:
        return None
    simulation = SimulationBaseClass.SimBaseClass()
    step_ns, kept = macros.sec2nano(DT), []  # it does not keep what it is given
    simulation.CreateNewProcess('bench').addTask(simulation.CreateNewTask('step', step_ns))
    for i in range(motors):
        craft, wheels = spacecraft.Spacecraft(), simIncludeRW.rwFactory()
        craft.ModelTag = f'craft{i}'
        craft.hub.mHub = 5.0
        craft.hub.IHubPntBc_B = np.diag([0.05] * 3).tolist()
        craft.hub.omega_BN_BInit = [[x] for x in tumble(1.0)[1]]
        integrator = svIntegrators.svIntegratorEuler(craft)
        craft.setIntegrator(integrator)
        wheels.create(
            'custom',
            [0.0, 0.0, 1.0],
            Omega=0.0,
            Js=1e-4,
            Omega_max=1e6,
            u_max=1.0,
            rWB_B=list(PLACE),
            RWModel=messaging.BalancedWheels,
        )
        effector = reactionWheelStateEffector.ReactionWheelStateEffector()
        effector.ModelTag = f'wheels{i}'
        wheels.addToSpacecraft(craft.ModelTag, effector, craft)
        torque = messaging.ArrayMotorTorqueMsgPayload()
        torque.motorTorque = [TORQUE]
        message = messaging.ArrayMotorTorqueMsg().write(torque)
        effector.rwMotorCmdInMsg.subscribeTo(message)
        simulation.AddModelToTask('step', effector)
        simulation.AddModelToTask('step', craft)
        kept.append((craft, wheels, effector, message, integrator))
    simulation.InitializeSimulation()
    end_ns = 0

    def batch(_kept: Any = kept) -> None:
        nonlocal end_ns
        end_ns += OTHER_STEPS[motors] * step_ns
        simulation.ConfigureStopTime(end_ns)
        simulation.ExecuteSimulation()

    return batch


def time_rollouts(rig: str) -> dict[str, float | None]:
    """Return how long a step of a motor takes [ns], by contestant; None of one not installed."""
    batches: dict[str, tuple[Callable[[], None] | None, int]] = {}
    for motors in COUNTS:
        batches[f'rollout {motors}'] = ours(motors), motors * STEPS[motors]
        batches[f'mujoco {motors}'] = mujocos(motors, rig), motors * OTHER_STEPS[motors]
        batches[f'basilisk {motors}'] = basilisks(motors), motors * OTHER_STEPS[motors]
    with_wrench = ours(1000, ('angle', 'spin', 'mount_wrench'))
    batches['rollout 1000 wrench'] = with_wrench, 1000 * STEPS[1000]
    times: dict[str, list[float]] = {name: [] for name in batches}
    for i in range(1 + BATCHES):
        for name, (batch, steps) in batches.items():
            if batch is not None:
                before = time.process_time_ns()  # Basilisk steps in a thread of its own
                batch()
                if i:  # not the first, which may compile
                    times[name].append((time.process_time_ns() - before) / steps)
    return {name: median(values) if values else None for name, values in times.items()}
