"""
Vectors, quaternions and matrices as tuples of floats: a tenth of the time of small arrays.

Quaternions are (x, y, z, w), Hamilton's product, active rotations; matrices are three rows.
See Sola 2017, "Quaternion kinematics for the error-state Kalman filter".
"""

from __future__ import annotations

from math import cos, hypot, sin, sqrt

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]
Matrix = tuple[Vector, Vector, Vector]


def add(a: Vector, b: Vector) -> Vector:
    """Return a + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def subtract(a: Vector, b: Vector) -> Vector:
    """Return a - b."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def scale(s: float, a: Vector) -> Vector:
    """Return s a."""
    return (s * a[0], s * a[1], s * a[2])


def dot(a: Vector, b: Vector) -> float:
    """Return a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def norm(vector: Vector) -> float:
    """Return the length of a vector."""
    return hypot(*vector)


def cross(a: Vector, b: Vector) -> Vector:
    """Return a x b."""
    ax, ay, az = a
    bx, by, bz = b
    return (ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx)


def multiply(p: Quaternion, q: Quaternion) -> Quaternion:
    """Return p q: first turn by q, then by p."""
    px, py, pz, pw = p
    qx, qy, qz, qw = q
    return (
        pw * qx + px * qw + py * qz - pz * qy,
        pw * qy - px * qz + py * qw + pz * qx,
        pw * qz + px * qy - py * qx + pz * qw,
        pw * qw - px * qx - py * qy - pz * qz,
    )


def conjugate(q: Quaternion) -> Quaternion:
    """Return the inverse of a unit quaternion."""
    return (-q[0], -q[1], -q[2], q[3])


def normalized(q: Quaternion) -> Quaternion:
    """Return q at length 1."""
    x, y, z, w = q
    length = sqrt(x * x + y * y + z * z + w * w)
    return (x / length, y / length, z / length, w / length)


def about(axis: Vector, angle: float) -> Quaternion:
    """Return the turn about a unit axis by an angle [rad]."""
    s = sin(0.5 * angle)
    return (s * axis[0], s * axis[1], s * axis[2], cos(0.5 * angle))


def spun(q: Quaternion, axis: Vector, angle: float) -> Quaternion:
    """Return q about(axis, angle), written out: it runs three times a step."""
    x, y, z, w = q
    a, b, c = axis
    s, k = sin(0.5 * angle), cos(0.5 * angle)
    a, b, c = s * a, s * b, s * c
    return (
        w * a + x * k + y * c - z * b,
        w * b - x * c + y * k + z * a,
        w * c + x * b - y * a + z * k,
        w * k - x * a - y * b - z * c,
    )


def rotate(q: Quaternion, v: Vector) -> Vector:
    """Return v turned by a unit quaternion: v + 2 w u x v + 2 u x (u x v), u = (x, y, z)."""
    x, y, z, w = q
    a, b, c = v
    tx, ty, tz = 2.0 * (y * c - z * b), 2.0 * (z * a - x * c), 2.0 * (x * b - y * a)
    return (
        a + w * tx + y * tz - z * ty,
        b + w * ty + z * tx - x * tz,
        c + w * tz + x * ty - y * tx,
    )


def matrix(q: Quaternion) -> Matrix:
    """Return the rotation matrix of a unit quaternion."""
    x, y, z, w = q
    x2, y2, z2 = x + x, y + y, z + z
    xx, yy, zz = x * x2, y * y2, z * z2
    xy, xz, yz = x * y2, x * z2, y * z2
    wx, wy, wz = w * x2, w * y2, w * z2
    return (
        (1.0 - yy - zz, xy - wz, xz + wy),
        (xy + wz, 1.0 - xx - zz, yz - wx),
        (xz - wy, yz + wx, 1.0 - xx - yy),
    )


def apply(m: Matrix, v: Vector) -> Vector:
    """Return m v."""
    (a, b, c), (d, e, f), (g, h, i) = m
    x, y, z = v
    return (a * x + b * y + c * z, d * x + e * y + f * z, g * x + h * y + i * z)


def turned(q: Quaternion, s: Matrix) -> Matrix:
    """Return R S R^T for a symmetric S and the rotation R of a unit quaternion."""
    x, y, z, w = q  # matrix(q), written out here: this runs three times a step
    x2, y2, z2 = x + x, y + y, z + z
    xx, yy, zz = x * x2, y * y2, z * z2
    xy, xz, yz = x * y2, x * z2, y * z2
    wx, wy, wz = w * x2, w * y2, w * z2
    a, b, c = 1.0 - yy - zz, xy - wz, xz + wy
    d, e, f = xy + wz, 1.0 - xx - zz, yz - wx
    g, h, i = xz - wy, yz + wx, 1.0 - xx - yy
    (sxx, sxy, sxz), (_, syy, syz), (_, _, szz) = s
    # R S by rows u, v; then the different elements of (R S) R^T, the last out of the trace
    ux, uy, uz = (
        a * sxx + b * sxy + c * sxz,
        a * sxy + b * syy + c * syz,
        a * sxz + b * syz + c * szz,
    )
    vx, vy, vz = (
        d * sxx + e * sxy + f * sxz,
        d * sxy + e * syy + f * syz,
        d * sxz + e * syz + f * szz,
    )
    xx, xy, xz = a * ux + b * uy + c * uz, d * ux + e * uy + f * uz, g * ux + h * uy + i * uz
    yy, yz = d * vx + e * vy + f * vz, g * vx + h * vy + i * vz
    zz = sxx + syy + szz - xx - yy
    return ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
