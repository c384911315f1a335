"""
Plant single mistakes in the equations, one at a time, and see that the tests find every one.

    python test/mutants.py            all, as a table; exit code 1 when one survives
    python test/mutants.py 'axis'     those whose name holds this word

Each mistake is a replacement of source text that must be there exactly once, so that a change of
the equations cannot quietly empty this list. The tests of the table in doc/equations.md are left
out: they read the source and would find a mistake without calculating anything.
"""

from collections import deque
import multiprocessing
import os
from pathlib import Path
import shutil
import sys
import tempfile
import time

# Before numpy starts threads: every mistake is tried in a fork of this process.
os.environ.update(
    OPENBLAS_NUM_THREADS='1', PYTEST_DISABLE_PLUGIN_AUTOLOAD='1', PYTEST_ADDOPTS='--strict-markers'
)

from hypothesis import Phase, settings  # noqa: E402  imported here once, not in every fork
import numpy as np  # noqa: E402, F401
import pytest  # noqa: E402
import transforms3d  # noqa: E402, F401

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = 'mime_motor_ros'
MODULES = (
    '__init__.py',
    'errors.py',
    'vector.py',
    'axial.py',
    'imbalance.py',
    'model.py',
    'energy.py',
)
# In this order: a mistake should fall by a case of its equation, or by a law, before the golden
# cases; the fast ones alone come first.
TESTS = (
    ('test_equations.py',),
    ('test_motor_parameters.py', 'test_model.py', 'test_vector.py', 'test_golden.py'),
    ('test_axial.py',),
)
# For a mistake in (D1) to (D8), which are of test_axial.py, the others come after it.
AXIAL_FIRST = (TESTS[-1], *TESTS[:-1])
WORKERS = 2
# That an example fails is all that is asked, not which is the simplest: no looking for that.
settings.register_profile('first failure', phases=(Phase.explicit, Phase.generate), database=None)

MODEL = [
    ('(1) placement ignored', 'x_MS, R_MS = parameters.placement', 'x_MS, R_MS = Pose()'),
    ("(1) placement's position not turned", 'add(x_WM, rotate(R_WM, x_MS))', 'add(x_WM, x_MS)'),
    ("(1) mount's position left out", 'add(x_WM, rotate(R_WM, x_MS))', 'rotate(R_WM, x_MS)'),
    ('(1) orientations in the wrong order', 'multiply(R_WM, R_MS)', 'multiply(R_MS, R_WM)'),
    ("(1) placement's orientation ignored", 'multiply(R_WM, R_MS)', 'R_WM'),
    ('(1) mount not normalised', 'R_WM = normalized(R_WM)', 'R_WM = R_WM'),
    (
        'compose without turning the position',
        'rotate(X_AB.orientation, X_BC.position)',
        'X_BC.position',
    ),
    (
        'compose in the wrong order',
        'multiply(X_AB.orientation, X_BC.orientation)',
        'multiply(X_BC.orientation, X_AB.orientation)',
    ),
    ('(2) axis not turned', 'e_W = rotate(R_WS, a)', 'e_W = a'),
    ("(2) axis turned with the mount's", 'e_W = rotate(R_WS, a)', 'e_W = rotate(R_WM, a)'),
    ('(3) load of the stator', 'tau_l = dot(e_W, T_r)', 'tau_l = dot(e_W, T_s)'),
    ('(3) load along the axis in the stator', 'tau_l = dot(e_W, T_r)', 'tau_l = dot(a, T_r)'),
    ('(4) asymmetry not turned by the rotor', 'a, state.angle)', 'a, 0.0)'),
    ('(4) angle the wrong way round', 'a, state.angle)', 'a, -state.angle)'),
    (
        "(4) asymmetry in the mount's axes",
        'spun(R_WS, a, state.angle)',
        'spun(R_WM, a, state.angle)',
    ),
    ('(5) sign', 'dot(cross(w_W, e_W), apply', 'dot(cross(e_W, w_W), apply'),
    (
        '(5) half of it',
        'dot(cross(w_W, e_W), apply(Q_W, w_W))',
        '0.5 * dot(cross(w_W, e_W), apply(Q_W, w_W))',
    ),
    (
        '(5) dropped',
        '        tau_q = dot(cross(w_W, e_W), apply(Q_W, w_W))',
        '        tau_q = 0.0',
    ),
    ('(6) drive dropped', '(tau + tau_l + tau_q + b * w_e)', '(tau_l + tau_q + b * w_e)'),
    ('(6) load dropped', '(tau + tau_l + tau_q + b * w_e)', '(tau + tau_q + b * w_e)'),
    ('(6) asymmetry dropped', '(tau + tau_l + tau_q + b * w_e)', '(tau + tau_l + b * w_e)'),
    ('(6) damping on the absolute spin', ' + tau_q + b * w_e)', ' + tau_q)'),
    ("(6) sign of the mount's drag", ' + tau_q + b * w_e)', ' + tau_q - b * w_e)'),
    (
        '(6) explicit damping',
        '(J * state.spin + dt * (tau + tau_l + tau_q + b * w_e)) / (J + dt * b)',
        '(J * state.spin + dt * (tau + tau_l + tau_q + b * (w_e - state.spin))) / J',
    ),
    ('(6) no damping', '/ (J + dt * b)', '/ J'),
    ('(7) relative speed is the absolute spin', 'relative = spin - w_e', 'relative = spin'),
    ('(7) relative speed of the wrong sign', 'relative = spin - w_e', 'relative = spin + w_e'),
    (
        '(7) angle from the old spin',
        'state.angle + dt * relative',
        'state.angle + dt * (state.spin - w_e)',
    ),
    ('(7) angle from the absolute spin', 'state.angle + dt * relative', 'state.angle + dt * spin'),
    (
        '(7) angle wrapped',
        'state.angle + dt * relative',
        '(state.angle + dt * relative) % 6.283185307179586',
    ),
    (
        '(8) rotor at the old angle',
        'R_WR = spun(R_WS, a, angle)',
        'R_WR = spun(R_WS, a, state.angle)',
    ),
    (
        "(8) rotor turned in the mount's axes",
        'R_WR = spun(R_WS, a, angle)',
        'R_WR = spun(R_WM, a, angle)',
    ),
    ("(8) rotor at the mount's origin", 'Pose(x_WS, R_WR)', 'Pose(x_WM, R_WR)'),
    (
        '(9) rotor turns by the absolute spin as well',
        'add(w_W, scale(relative, e_W))',
        'add(w_W, scale(spin, e_W))',
    ),
    ('(9) rotor without its mount', 'add(w_W, scale(relative, e_W))', 'scale(relative, e_W)'),
    ('(10) force on the rotor dropped', 'F = add(F_s, F_r)', 'F = F_s'),
    ('(10) load kept about the axis', 'axial = tau_l + (tau', 'axial = (tau'),
    ('(10) drive not reacted', 'tau_l + (tau + tau_b', 'tau_l + (tau_b'),
    ('(10) drag of the wrong sign', '(tau + tau_b + tau_q', '(tau - tau_b + tau_q'),
    ('(10) drag on the absolute spin', 'momentum = -b * relative', 'momentum = -b * spin'),
    ('(10) asymmetry not reacted', '(tau + tau_b + tau_q)', '(tau + tau_b)'),
    ('(10) asymmetry of the wrong sign', '(tau + tau_b + tau_q)', '(tau + tau_b - tau_q)'),
    ('(10) sign of the reaction', 'T_r[1] - axial', 'T_r[1] + axial'),
    ('(10) lever arm the wrong way round', 'subtract(x_WS, x_WM)', 'subtract(x_WM, x_WS)'),
    ("(10) lever arm from the world's origin", 'subtract(x_WS, x_WM)', 'x_WS'),
    ('(10) lever arm of the stator load alone', 'x_WM), F)', 'x_WM), F_s)'),
    ('(11) momentum of the old spin', 'spin, J * spin\n', 'spin, J * state.spin\n'),
    ('(11) momentum of the relative speed', 'spin, J * spin\n', 'spin, J * relative\n'),
    ('(12) asymmetry at the old angle', 'Q_now = turned(R_WR, Q_S)', 'Q_now = Q_W'),
    ('(12) next is now', 'a, angle + dt * relative)', 'a, angle)'),
    ('(12) next by the absolute spin', 'a, angle + dt * relative)', 'a, angle + dt * spin)'),
    ('(13) sign, symmetric rotor', 'T_g = cross(H, w_W)', 'T_g = cross(w_W, H)'),
    ('(13) sign', 'cross(add(H, L), w_W)', 'cross(w_W, add(H, L))'),
    ('(13) asymmetry left out of the momentum', 'cross(add(H, L), w_W)', 'cross(H, w_W)'),
    ('(13) spin left out of the momentum', 'cross(add(H, L), w_W)', 'cross(L, w_W)'),
    ('(13) slope of the wrong sign', 'subtract(L_next, L)', 'subtract(L, L_next)'),
    ('(13) change in place of its slope', 'scale(1.0 / dt, sub', 'scale(1.0, sub'),
    ('(14) gyroscopic torque left out', 'Wrench(F, add(T, T_g))', 'Wrench(F, T)'),
    ('(14) gyroscopic torque alone', 'Wrench(F, add(T, T_g))', 'Wrench(F, T_g)'),
    ('axis not normalised', '(x / length, y / length, z / length)', '(x, y, z)'),
    (
        'asymmetry along the axis taken',
        'if not hypot(*apply(Q, axis)) <=',
        'if not 0.0 * hypot(*apply(Q, axis)) <=',
    ),
    ('inertia 0 taken', 'if not 0.0 < inertia', 'if not 0.0 <= inertia'),
    ('asymmetry not symmetric taken', 'max(abs(xy - yx), abs(xz - zx), ', 'max(abs(xy - yx), '),
    ('transverse inertia of half the size', 'm = 0.5 * (six', 'm = 0.25 * (six'),
    ('rounding left along the axis', '= _across(Q, a)\n    return', '= Q\n    return'),
]
VECTOR = [
    (
        'cross product of the wrong sign',
        '(ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx)',
        '(az * by - ay * bz, ax * bz - az * bx, ay * bx - ax * by)',
    ),
    ('turn by the whole angle', '    s = sin(0.5 * angle)', '    s = sin(angle)'),
    ('turn the wrong way round', '    s = sin(0.5 * angle)', '    s = -sin(0.5 * angle)'),
    ('spun by the whole angle', 's, k = sin(0.5 * angle)', 's, k = sin(angle)'),
    ('spun the wrong way round', 's, k = sin(0.5 * angle)', 's, k = -sin(0.5 * angle)'),
    (
        'spun in the axes of the world',
        'w * a + x * k + y * c - z * b',
        'w * a + x * k - y * c + z * b',
    ),
    ('conjugate that is none', '(-q[0], -q[1], -q[2], q[3])', '(q[0], q[1], q[2], q[3])'),
    (
        'one sign in the product',
        'pw * qx + px * qw + py * qz - pz * qy',
        'pw * qx + px * qw + py * qz + pz * qy',
    ),
    ('one sign in rotate', 'b + w * ty + z * tx - x * tz', 'b + w * ty - z * tx - x * tz'),
    ('one element of a turned tensor', 'yy, yz = d * vx', 'yy, yz = d * ux'),
    ('the trace of a turned tensor', 'sxx + syy + szz - xx', 'sxx + syy - xx'),
]
AXIAL = [
    ('(D1) law without its slope', 'law.torque - law.slope * free', 'law.torque'),
    ('(D1) drag left out', 'gain = dt / (inertia + dt * c)', 'gain = dt / inertia'),
    ('(D2) square of the speed left out', '(friction.quadratic + ', '('),
    ('(D3) static friction while it slides', 'more * exp(', 'more * abs('),
    ('(D4) friction of the wrong sign', 'free -= copysign', 'free += copysign'),
    ('(D4) sticks at half of it', '<= gain * friction:', '<= 0.5 * gain * friction:'),
    ('(D5) bounds ignored', '/ stiff, law.low), law.high)', '/ stiff, -inf), inf)'),
    ('(D5) power ignored', 'if abs(turned.torque * turned.speed) > law.power:', 'if False:'),
]
GEARED = [
    ('(D1) gear seen once', 'J + n * n * J_m', 'J + n * J_m'),
    ("(D1) the drive's momentum left out", 'K += n * J_m * (before - w_e)', 'K += 0.0'),
    ('(D6) casing takes nothing', '(n - 1.0) * J_m', '0.0 * J_m'),
    ("(D7) the drive's momentum left out", ' + J_m * after, axial', ', axial'),
    ('(D8) imbalance left out', 'F, T_s = add(F, off.force), add(T_s, off.torque)', 'off'),
]
UNBALANCED = [
    ('(D8) by the relative speed', 'w_r = add(w, scale(v, e))', 'w_r = scale(v, e)'),
    ('(D8) force inwards', 'scale(-imbalance.static, ', 'scale(imbalance.static, '),
    ('(D8) torque of the wrong sign', 'torque = scale(-1.0, ', 'torque = scale(1.0, '),
]
MUTANTS = [('model.py', *mutant) for mutant in (*MODEL, *GEARED)]
MUTANTS += [('axial.py', *mutant) for mutant in AXIAL]
MUTANTS += [('imbalance.py', *mutant) for mutant in UNBALANCED]
MUTANTS += [('vector.py', *mutant) for mutant in VECTOR]


def tree(source, folder, module=None, old='', new=''):
    """Copy what the tests of the model need, with one replacement in one module."""
    package, tests = folder / PACKAGE, folder / 'test'
    package.mkdir()
    for name in MODULES:
        shutil.copy(source / PACKAGE / name, package)
    shutil.copytree(source / 'test' / 'data' / 'golden', tests / 'data' / 'golden')
    for names in TESTS:
        for name in names:
            shutil.copy(source / 'test' / name, tests)
    if module:
        path = package / module
        path.write_text(path.read_text().replace(old, new))


class FirstFailure:
    """Remember the first test that failed."""

    test = None

    def pytest_runtest_logreport(self, report):
        if report.failed and self.test is None:
            self.test = report.nodeid.partition('/')[2]


def failed(folder, tests):
    """Return the first test that fails in a tree, or None. For a process of its own."""
    settings.load_profile('first failure')
    with open(folder / 'log', 'w') as log:  # pytest's own words, of no use but for an error
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    sys.dont_write_bytecode = True
    first = FirstFailure()
    options = ['-x', '-q', '--tb=no', '--assert=plain', '-p', 'no:cacheprovider', '--rootdir', '.']
    for names in tests:
        paths = [f'test/{name}' for name in names]
        code = pytest.main([*options, '-k', 'not table and not tag', *paths], [first])
        if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            # No test failed: they could not be run, which proves nothing.
            raise RuntimeError(f'pytest ended with {code!r}: {(folder / "log").read_text()}')
        if first.test:
            break
    if not Path(sys.modules[PACKAGE].__file__).is_relative_to(folder):
        raise RuntimeError(f'the tests took {sys.modules[PACKAGE].__file__}')
    return first.test


def plant(source, module=None, name='', old='', new=''):
    """Start a process that tries one mistake; return the process and where its answer comes."""
    tests = AXIAL_FIRST if name.startswith('(D') else TESTS

    def child():
        try:
            with tempfile.TemporaryDirectory() as empty:
                folder = Path(empty).resolve()
                tree(source, folder, module, old, new)
                sender.send(failed(folder, tests))
        except Exception as error:
            sender.send(error)

    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context('fork').Process(target=child)
    process.start()
    sender.close()
    return process, receiver


def answer(process, receiver):
    """Return the first test that failed in this process, or None."""
    try:
        found = receiver.recv()
    except EOFError:
        found = RuntimeError('the process that tried it ended without an answer')
    process.join()
    if isinstance(found, Exception):
        raise found
    return found


def tried(source, mutants):
    """Yield the mistakes, each with the first test that found it; some are tried at a time."""
    running = deque()
    for mutant in mutants:
        running.append((mutant, *plant(source, *mutant)))
        if len(running) == WORKERS:
            first, *handle = running.popleft()
            yield first, answer(*handle)
    for last, *handle in running:
        yield last, answer(*handle)


def main(words):
    """Plant every mistake whose name holds one of the words; return the exit code."""
    with tempfile.TemporaryDirectory() as name:
        source = Path(name)  # as it is now, whoever edits the package meanwhile
        tree(ROOT, source)
        return report(source, words)


def report(source, words):
    """Plant the mistakes in copies of a tree, print what finds them, return the exit code."""
    texts = {module: (source / PACKAGE / module).read_text() for module in MODULES}
    wrong = [
        f'{module}: {name}: its text is there {texts[module].count(old)} times, must be once'
        for module, name, old, _ in MUTANTS
        if texts[module].count(old) != 1
    ]
    if wrong:
        print('\n'.join(wrong), file=sys.stderr)
        return 2
    start = time.monotonic()
    test = answer(*plant(source))
    if test:
        print(f'{test} fails without any mistake planted', file=sys.stderr)
        return 2
    chosen = [m for m in MUTANTS if not words or any(word in m[1] for word in words)]
    survivors = []
    for (module, name, _, _), test in tried(source, chosen):
        print(f'{module:10} {name:45} {test or "SURVIVES"}', flush=True)
        survivors += [] if test else [f'{module}: {name}']
    seconds = time.monotonic() - start
    print(f'{len(chosen) - len(survivors)} of {len(chosen)} mistakes found in {seconds:.0f} s')
    for survivor in survivors:
        print(f'survives: {survivor}', file=sys.stderr)
    return 1 if survivors else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
