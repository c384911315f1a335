"""
Plant single mistakes in the equations, one at a time, and see that the tests find every one.

    python test/mutants.py            all, as a table; exit code 1 when one survives
    python test/mutants.py 'axis'     those whose name holds this word

Each mistake is a replacement of source text that must be there exactly once, so that a change of
the equations cannot quietly empty this list. The tests of the table in doc/equations.md are left
out: they read the source and would find a mistake without calculating anything.
"""

from concurrent.futures import ThreadPoolExecutor
import os
from pathlib import Path
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = 'mime_motor_ros'
MODULES = ('__init__.py', 'errors.py', 'vector.py', 'model.py')
# In this order: a mistake should fall by a case of its equation, or by a law, before the golden
# cases; the fast ones alone come first.
TESTS = (
    ('test_equations.py',),
    ('test_motor_parameters.py', 'test_model.py', 'test_vector.py', 'test_golden.py'),
)
WORKERS = 2

MODEL = [
    ('(1) placement ignored', 'X_WS = compose(X_WM, parameters.placement)', 'X_WS = X_WM'),
    (
        '(1) placement on the wrong side',
        'compose(X_WM, parameters.placement)',
        'compose(parameters.placement, X_WM)',
    ),
    ('(1) mount not normalised', 'Pose(x_WM, normalized(R_WM))', 'Pose(x_WM, R_WM)'),
    (
        "(1) placement's position not turned",
        'rotate(X_AB.orientation, X_BC.position)',
        'X_BC.position',
    ),
    (
        '(1) orientations in the wrong order',
        'multiply(X_AB.orientation, X_BC.orientation)',
        'multiply(X_BC.orientation, X_AB.orientation)',
    ),
    ('(2) axis not turned', 'e_W = rotate(R_WS, a)', 'e_W = a'),
    ("(2) axis turned with the mount's", 'e_W = rotate(R_WS, a)', 'e_W = rotate(X_WM[1], a)'),
    ('(3) load of the stator', 'tau_l = dot(e_W, T_r)', 'tau_l = dot(e_W, T_s)'),
    ('(3) load along the axis in the stator', 'tau_l = dot(e_W, T_r)', 'tau_l = dot(a, T_r)'),
    ('(4) asymmetry not turned by the rotor', 'about(a, state.angle)', 'about(a, 0.0)'),
    ('(4) angle the wrong way round', 'about(a, state.angle)', 'about(a, -state.angle)'),
    (
        '(4) asymmetry turned in world axes',
        'multiply(R_WS, about(a, state.angle))',
        'multiply(about(a, state.angle), R_WS)',
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
        'R_WR = multiply(R_WS, about(a, angle))',
        'R_WR = multiply(R_WS, about(a, state.angle))',
    ),
    (
        '(8) rotor turned in world axes',
        'R_WR = multiply(R_WS, about(a, angle))',
        'R_WR = multiply(about(a, angle), R_WS)',
    ),
    ("(8) rotor at the mount's origin", 'X_WR = Pose(x_WS, R_WR)', 'X_WR = Pose(x_WM, R_WR)'),
    (
        '(9) rotor turns by the absolute spin as well',
        'add(w_W, scale(relative, e_W))',
        'add(w_W, scale(spin, e_W))',
    ),
    ('(9) rotor without its mount', 'add(w_W, scale(relative, e_W))', 'scale(relative, e_W)'),
    ('(10) force on the rotor dropped', 'F = add(F_s, F_r)', 'F = F_s'),
    ('(10) load kept about the axis', 'axial = tau_l + (tau', 'axial = (tau'),
    ('(10) drive not reacted', 'tau_l + (tau - b * relative', 'tau_l + (-b * relative'),
    ('(10) drag of the wrong sign', '(tau - b * relative', '(tau + b * relative'),
    ('(10) drag on the absolute spin', '(tau - b * relative', '(tau - b * spin'),
    ('(10) asymmetry not reacted', 'b * relative + tau_q)', 'b * relative)'),
    ('(10) asymmetry of the wrong sign', 'b * relative + tau_q)', 'b * relative - tau_q)'),
    ('(10) sign of the reaction', 'T_r[1] - axial', 'T_r[1] + axial'),
    ('(10) lever arm the wrong way round', 'subtract(x_WS, x_WM)', 'subtract(x_WM, x_WS)'),
    ("(10) lever arm from the world's origin", 'subtract(x_WS, x_WM)', 'x_WS'),
    ('(10) lever arm of the stator load alone', 'x_WM), F)', 'x_WM), F_s)'),
    ('(11) momentum of the old spin', 'scale(J * spin, e_W)', 'scale(J * state.spin, e_W)'),
    ('(11) momentum of the relative speed', 'scale(J * spin, e_W)', 'scale(J * relative, e_W)'),
    ('(12) asymmetry at the old angle', 'Q_now = turned(R_WR, Q_S)', 'Q_now = Q_W'),
    ('(12) next is now', 'about(a, angle + dt * relative)', 'about(a, angle)'),
    ('(12) next by the absolute spin', 'angle + dt * relative)', 'angle + dt * spin)'),
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
        'if not hypot(*apply(Q, axis)) <= 1e-9 * size:',
        'if False:',
    ),
    ('inertia 0 taken', 'if not 0.0 < inertia < inf', 'if not 0.0 <= inertia < inf'),
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
    ('turn by the whole angle', 's = sin(0.5 * angle)', 's = sin(angle)'),
    ('turn the wrong way round', 's = sin(0.5 * angle)', 's = -sin(0.5 * angle)'),
    ('conjugate that is none', '(-q[0], -q[1], -q[2], q[3])', '(q[0], q[1], q[2], q[3])'),
    (
        'one sign in the product',
        'pw * qx + px * qw + py * qz - pz * qy',
        'pw * qx + px * qw + pz * qy',
    ),
    ('one sign in rotate', 'b + w * ty + z * tx - x * tz', 'b + w * ty - z * tx - x * tz'),
    ('one element of a turned tensor', 'yy, yz = d * vx', 'yy, yz = d * ux'),
]
MUTANTS = [('model.py', *mutant) for mutant in MODEL]
MUTANTS += [('vector.py', *mutant) for mutant in VECTOR]


def tree(folder, module=None, old='', new=''):
    """Copy what the tests of the model need, with one replacement in one module."""
    package, tests = folder / PACKAGE, folder / 'test'
    package.mkdir()
    for name in MODULES:
        shutil.copy(ROOT / PACKAGE / name, package)
    shutil.copytree(ROOT / 'test' / 'data' / 'golden', tests / 'data' / 'golden')
    for names in TESTS:
        for name in names:
            shutil.copy(ROOT / 'test' / name, tests)
    if module:
        path = package / module
        path.write_text(path.read_text().replace(old, new))


def failed(folder):
    """Return the first test that fails in a tree, or None."""
    environment = {
        **os.environ,
        'PYTHONPATH': os.pathsep.join([str(folder), os.environ.get('PYTHONPATH', '')]),
        'PYTHONDONTWRITEBYTECODE': '1',
        'PYTEST_DISABLE_PLUGIN_AUTOLOAD': '1',
        'PYTEST_ADDOPTS': '',
    }
    command = [sys.executable, '-m', 'pytest', '-x', '-q', '--tb=no', '-p', 'no:cacheprovider']
    command += ['--rootdir', str(folder), '-k', 'not table and not tag']
    for names in TESTS:
        run = subprocess.run(
            [*command, *(f'test/{name}' for name in names)],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        if run.returncode == 1:
            return re.search(r'^FAILED test/(\S+)', run.stdout, re.MULTILINE).group(1)
        if run.returncode:  # no test failed: they could not be run, which proves nothing
            raise RuntimeError(f'pytest ended with {run.returncode}:\n{run.stdout}\n{run.stderr}')
    return None


def plant(mutant):
    """Return the first test that fails with one mistake planted, or None."""
    module, _, old, new = mutant
    with tempfile.TemporaryDirectory() as folder:
        tree(Path(folder), module, old, new)
        return failed(Path(folder))


def main(words):
    """Plant every mistake whose name holds one of the words; return the exit code."""
    sources = {module: (ROOT / PACKAGE / module).read_text() for module in MODULES}
    wrong = [
        f'{module}: {name}: its text is there {sources[module].count(old)} times, must be once'
        for module, name, old, _ in MUTANTS
        if sources[module].count(old) != 1
    ]
    if wrong:
        print('\n'.join(wrong), file=sys.stderr)
        return 2
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        tree(Path(folder))
        test = failed(Path(folder))
    if test:
        print(f'{test} fails without any mistake planted', file=sys.stderr)
        return 2
    chosen = [m for m in MUTANTS if not words or any(word in m[1] for word in words)]
    survivors = []
    with ThreadPoolExecutor(WORKERS) as pool:
        for mutant, test in zip(chosen, pool.map(plant, chosen), strict=True):
            module, name = mutant[:2]
            print(f'{module:10} {name:45} {test or "SURVIVES"}', flush=True)
            survivors += [] if test else [f'{module}: {name}']
    seconds = time.monotonic() - start
    print(f'{len(chosen) - len(survivors)} of {len(chosen)} mistakes found in {seconds:.0f} s')
    for survivor in survivors:
        print(f'survives: {survivor}', file=sys.stderr)
    return 1 if survivors else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
