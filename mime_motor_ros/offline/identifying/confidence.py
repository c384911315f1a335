"""
How sure a fit is: standard errors and correlations out of the residual and its derivative.

A residual is correlated with its neighbours, so that n samples tell less than n independent ones.
Two estimates of what that does are made, each blind where the other sees, and the greater counts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .fit import ROBUST
from .logs import Array

MOST_ORDER = 6
"""Of the autoregressive series that a residual is taken for."""


def covariance(residual: Array, jacobian: Array, lengths: Sequence[int]) -> Array:
    """
    Return the covariance of all that was searched for: H^-1 S H^-1.

    H is the curvature of the robust cost, S the covariance of its gradient: once out of the
    products of neighbours as they are (Newey and West), which sees a residual that is great
    where the derivative is; once with the residual as an autoregressive series, which sees
    correlation over more than a short recording shows. The greater variances are taken, with
    the correlations of the first. White residuals give sigma^2 H^-1 both times.

    Parameters
    ----------
    residual : shape (n,)
        In standard deviations.
    jacobian : shape (n, p)
        Its derivative.
    lengths : of the segments
        Numbers of rows, n together.

    """
    z = residual / ROBUST
    psi = residual / np.sqrt(1.0 + z**2)
    H = jacobian.T @ (jacobian * ((1.0 + z**2) ** -1.5)[:, None])
    inverse = np.linalg.pinv(H, rcond=1e-14, hermitian=True)
    ends = np.cumsum(lengths)[:-1]
    pieces = list(zip(np.split(jacobian, ends), np.split(psi, ends), strict=True))
    scores = [J * r[:, None] for J, r in pieces]
    lags = reach(psi, lengths)
    bartlett = 1.0 - np.arange(lags + 1) / (lags + 1.0)
    measured = inverse @ _summed(scores, bartlett) @ inverse
    series = _autocovariance([r for _, r in pieces])
    modelled = inverse @ _summed([J for J, _ in pieces], series) @ inverse
    n, p = jacobian.shape
    variance, other = np.diag(measured), np.diag(modelled)
    grown = np.sqrt(np.maximum(other, variance) / np.where(variance > 0.0, variance, 1.0))
    return np.asarray(measured * np.outer(grown, grown) * n / max(n - p, 1))


def _summed(pieces: Sequence[Array], weights: Array) -> Array:
    """Return the sum over lags k and both their signs of weight_k x_i x_(i-k)^T."""
    p = pieces[0].shape[1]
    S = np.zeros((p, p))
    for x in pieces:
        S += weights[0] * (x.T @ x)
        for k in range(1, min(len(weights), len(x))):
            product = x[k:].T @ x[:-k]
            S += weights[k] * (product + product.T)
    return S


def _autocovariance(pieces: Sequence[Array]) -> Array:
    """Return the autocovariance by lag of the series that fits best, by Schwarz's criterion."""
    n = sum(map(len, pieces))
    most = min(MOST_ORDER, min(map(len, pieces)) - 2)
    gamma = np.array(
        [sum(float(x[k:] @ x[: len(x) - k]) for x in pieces) / n for k in range(most + 1)]
    )
    if not gamma[0] > 0.0:
        return np.zeros(1)
    best, chosen = np.inf, np.zeros(0)
    for order in range(most + 1):
        R = np.array([[gamma[abs(i - j)] for j in range(order)] for i in range(order)])
        a = np.linalg.lstsq(R, gamma[1 : order + 1], rcond=None)[0] if order else np.zeros(0)
        left = float(gamma[0] - a @ gamma[1 : order + 1])
        score = n * np.log(max(left, 1e-12 * gamma[0])) + order * np.log(n)
        if score < best:
            best, chosen = score, a
    values = list(gamma[: len(chosen) + 1])
    longest = max(map(len, pieces))
    while len(chosen) and len(values) < longest and abs(values[-1]) > 1e-3 * values[0]:
        values.append(float(chosen @ values[: -len(chosen) - 1 : -1]))
    return np.array(values)


def reach(residual: Array, lengths: Sequence[int]) -> int:
    """Return over how many samples the products of neighbours are summed."""
    power = float(residual @ residual) or 1.0
    ends = np.cumsum(lengths)[:-1]
    rho = sum(float(x[1:] @ x[:-1]) for x in np.split(residual, ends)) / power
    rho = min(abs(rho), 0.97)
    # Andrews 1991, for Bartlett's weights and a series of first order.
    alpha = 4.0 * rho**2 / (1.0 - rho**2) ** 2
    return int(1.1447 * (alpha * len(residual)) ** (1.0 / 3.0))
