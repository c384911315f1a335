"""How sure a fit is: standard errors and correlations out of the residual and its derivative."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .fit import ROBUST
from .logs import Array


def covariance(residual: Array, jacobian: Array, lengths: Sequence[int]) -> Array:
    """
    Return the covariance of all that was searched for.

    H^-1 S H^-1 with H the curvature of the robust cost and S the covariance of its gradient:
    the products of a residual with its neighbours count too, as far as its correlation reaches
    and never across the end of a segment (Newey and West). White residuals give sigma^2 H^-1.

    Parameters
    ----------
    residual : shape (n,), in standard deviations
    jacobian : shape (n, p)
    lengths : of the segments, n together

    """
    z = residual / ROBUST
    psi = residual / np.sqrt(1.0 + z**2)
    H = jacobian.T @ (jacobian * ((1.0 + z**2) ** -1.5)[:, None])
    lags = reach(residual, lengths)
    S = np.zeros_like(H)
    start = 0
    for n in lengths:
        score = jacobian[start : start + n] * psi[start : start + n, None]
        start += n
        S += score.T @ score
        for k in range(1, min(lags, n - 1) + 1):
            product = score[k:].T @ score[:-k]
            S += (1.0 - k / (lags + 1.0)) * (product + product.T)
    inverse = np.linalg.pinv(H, rcond=1e-14, hermitian=True)
    n, p = jacobian.shape
    return np.asarray(inverse @ S @ inverse * n / max(n - p, 1))


def reach(residual: Array, lengths: Sequence[int]) -> int:
    """Return over how many samples a residual is correlated, for the sum of `covariance`."""
    r = residual - residual.mean()
    power = float(r @ r) or 1.0
    ends = np.cumsum(lengths)[:-1]
    rho = sum(float(x[1:] @ x[:-1]) for x in np.split(r, ends)) / power
    rho = min(abs(rho), 0.97)
    # Andrews 1991, for Bartlett's weights and a series of first order.
    alpha = 4.0 * rho**2 / (1.0 - rho**2) ** 2
    return int(1.1447 * (alpha * len(r)) ** (1.0 / 3.0))
