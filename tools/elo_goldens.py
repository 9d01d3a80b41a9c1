#!/usr/bin/env python3
"""Writes fixtures/arena/*.json: worked examples of match statistics, computed apart from the program.

Formulas, with scores a_i (0, 1/2, 1 for games; 0, 1/4, ..., 1 for pairs) and counts n_i:
  elo.json     score = mean, variance over the mean, 95% interval mean +- 1.96 sqrt(variance/n), Elo of the ends by
               400 log10(s/(1-s)); superiority = Phi((mean-1/2)/sqrt(variance/n)); normalised Elo
               (mean-1/2)/sigma * 800/ln 10 with sigma per game, i.e. sqrt(2 variance) for pairs. When all results are
               the same: q = 0.05^(1/n), interval [q s, q s + 1 - q].
  sprt.json    log-likelihood ratio of the best fits under both hypotheses, each found by maximising the likelihood
               numerically over a parametrised simplex (sequential quadratic programming): nothing is
               shared with the fixed-point method of the program. Zero counts become 0.001.
  rating.json  sum(points) = sum(expected) by brentq; interval from the score test with the variance scaled by
               (observed squares + 1/4) / sum E(1-E); one-sided: product of E^n = 0.05.
  pool.json    Bradley-Terry by scipy minimisation; sandwich covariance with numpy's pinv, a quarter
               added to the squares of each encounter, times its share in the games of the player who has fewer.
Deterministic. Needs: pip install numpy scipy
"""
import json
import math
import pathlib

import numpy as np
from scipy import optimize, stats

OUT = pathlib.Path(__file__).resolve().parent.parent / "fixtures/arena"
Z = stats.norm.ppf(0.975)
NORMALISED = 800 / math.log(10)


def elo(score):
    return 400 * math.log10(score / (1 - score)) if 0 < score < 1 else None


def estimate(counts):
    n, k = sum(counts), len(counts)
    values = [i / (k - 1) for i in range(k)]
    mean = sum(c * v for c, v in zip(counts, values)) / n
    variance = sum(c * (v - mean) ** 2 for c, v in zip(counts, values)) / n
    row = {"counts": counts, "score": mean, "elo": elo(mean)}
    if sum(c > 0 for c in counts) == 1:
        q = 0.05 ** (1 / n)
        above = 1 - 0.5 ** (n + 1)
        superiority = above if mean > 0.5 else 1 - above if mean < 0.5 else 0.5
        row |= {"low": elo(mean * q), "high": elo(mean * q + 1 - q), "superiority": superiority}
        return row | {"normalised": None, "normalised_error": None}
    error = math.sqrt(variance / n)
    games = n * (k - 1) / 2
    row |= {"low": elo(mean - Z * error), "high": elo(mean + Z * error)}
    row["superiority"] = float(stats.norm.cdf((mean - 0.5) / error))
    row["normalised"] = (mean - 0.5) / math.sqrt(variance * (k - 1) / 2) * NORMALISED
    row["normalised_error"] = Z * NORMALISED / math.sqrt(games)
    return row


def best_log_likelihood(counts, condition):
    """The largest sum n_i log p_i over distributions with condition(p) = 0, by sequential quadratic programming."""
    counts = np.array(counts, float)
    total = counts.sum()
    share = counts / total

    def loss(x):  # logits, so that every p is positive
        p = np.exp(x - x.max())
        p /= p.sum()
        return -(share * np.log(p)).sum()

    def held(x):
        p = np.exp(x - x.max())
        return condition(p / p.sum())

    found = optimize.minimize(
        loss, np.log(share), constraints=[{"type": "eq", "fun": held}], method="SLSQP",
        options={"maxiter": 2000, "ftol": 1e-17},
    )
    assert abs(held(found.x)) < 1e-9, (counts, found)
    return -found.fun * total


def llr(counts, elo0, elo1, scale):
    seen = [max(c, 1e-3) for c in counts]
    k = len(counts)
    values = np.array([i / (k - 1) for i in range(k)])

    def condition(target):
        if scale == "logistic":
            return lambda p: (p * values).sum() - 1 / (1 + 10 ** (-target / 400))
        t = target / NORMALISED * math.sqrt((k - 1) / 2)

        def deviations(p):
            mean = (p * values).sum()
            return mean - 0.5 - t * math.sqrt((p * (values - mean) ** 2).sum())

        return deviations

    fit = [best_log_likelihood(seen, condition(target)) for target in (elo0, elo1)]
    return {"counts": counts, "elo0": elo0, "elo1": elo1, "scale": scale, "llr": fit[1] - fit[0]}


def expected(gap):
    return 1 / (1 + 10 ** (-gap / 400))


def rate(opponents):
    points = sum(w + d / 2 for _, w, d, _ in opponents)
    games = sum(w + d + l for _, w, d, l in opponents)
    row = {"opponents": opponents, "rating": None, "low": None, "high": None}

    def total(r, f):
        return sum((w + d + l) * f(expected(r - o)) for o, w, d, l in opponents)

    def solve(f):
        return optimize.brentq(f, -1500, 5500, xtol=1e-10)

    if points == games:
        return row | {"low": solve(lambda r: total(r, math.log) - math.log(0.05))}
    if points == 0:
        return row | {"high": solve(lambda r: total(r, lambda e: math.log1p(-e)) - math.log(0.05))}
    best = solve(lambda r: points - total(r, lambda e: e))
    squares = sum(
        w * (1 - expected(best - o)) ** 2 + d * (0.5 - expected(best - o)) ** 2 + l * expected(best - o) ** 2
        for o, w, d, l in opponents
    )
    scatter = (squares + 0.25) / total(best, lambda e: e * (1 - e))

    def distance(r, side):
        deviation = math.sqrt(scatter * total(r, lambda e: e * (1 - e)))
        return points - total(r, lambda e: e) + side * Z * deviation

    row["rating"] = best
    return row | {"low": solve(lambda r: distance(r, -1)), "high": solve(lambda r: distance(r, 1))}


def pool(players, encounters):
    unit = 400 / math.log(10)

    def gaps(x):
        return [(a, b, w + d / 2, w + d + l, x[a] - x[b]) for a, b, w, d, l in encounters]

    def loss(x):
        return -sum(s * g - n * np.logaddexp(0, g) for _, _, s, n, g in gaps(x)) + 0.5 * x.mean() ** 2

    def slope(x):
        out = np.full(players, x.mean() / players)
        for a, b, s, n, g in gaps(x):
            surplus = s - n / (1 + math.exp(-g))
            out[a] -= surplus
            out[b] += surplus
        return out

    x = optimize.minimize(loss, np.zeros(players), jac=slope, method="BFGS", options={"gtol": 1e-9}).x
    assert abs(slope(x)).max() < 1e-6
    x -= x.mean()
    information, scatter = np.zeros((players, players)), np.zeros((players, players))
    played = [sum(sum(results) for a, b, *results in encounters if player in (a, b)) for player in range(players)]
    for a, b, w, d, l in encounters:
        direction = np.zeros(players)
        direction[a], direction[b] = 1, -1
        e = 1 / (1 + math.exp(x[b] - x[a]))
        n = w + d + l
        outer = np.outer(direction, direction)
        information += n * e * (1 - e) * outer
        scatter += (w * (1 - e) ** 2 + d * (0.5 - e) ** 2 + l * e**2 + 0.25 * n / min(played[a], played[b])) * outer
    inverse = np.linalg.pinv(information)
    covariance = inverse @ scatter @ inverse * unit**2
    return {
        "players": players,
        "encounters": encounters,
        "ratings": [float(r) for r in x * unit],
        "errors": [float(Z * math.sqrt(v)) for v in np.diag(covariance)],
    }


ESTIMATES = [
    [89, 123, 76], [96, 111, 136], [356, 0, 34], [1, 0, 1], [0, 1, 9], [9, 1, 0], [0, 0, 10], [10, 0, 0],
    [0, 10, 0], [0, 0, 1], [1, 1, 1], [7, 20, 8], [500, 4000, 520],
    [34, 54, 63, 64, 75], [332, 433, 498, 333, 334], [7895, 8757, 5685, 568, 9999], [0, 0, 0, 0, 25],
    [25, 0, 0, 0, 0], [0, 0, 25, 0, 0], [0, 0, 0, 12, 0], [1, 0, 0, 0, 24], [3, 8, 20, 11, 8],
]
RATIOS = [
    ([36027, 68692, 36433], 0.0, 2.0, "normalised"), ([10650, 20431, 10871], -1.75, 0.25, "normalised"),
    ([21184, 40708, 21404], 0.5, 2.5, "logistic"), ([57030, 106593, 57433], 0.0, 2.0, "logistic"),
    ([365, 16618, 36229, 16974, 390], 0.0, 2.0, "normalised"),
    ([127, 4883, 10712, 5150, 104], -1.75, 0.25, "normalised"),
    ([223, 9863, 21279, 10037, 246], 0.5, 2.5, "logistic"),
    ([871, 26175, 55983, 26678, 821], 0.0, 2.0, "logistic"),
    ([3, 8, 20, 11, 8], 0.0, 10.0, "normalised"), ([3, 8, 20, 11, 8], 0.0, 10.0, "logistic"),
    ([12, 30, 14], -5.0, 5.0, "normalised"), ([12, 30, 14], -5.0, 5.0, "logistic"),
    ([40, 30, 90], 0.0, 100.0, "logistic"), ([40, 30, 90], 0.0, 100.0, "normalised"),
    ([2, 5, 30, 44, 19], 0.0, 50.0, "normalised"), ([2, 5, 30, 44, 19], 0.0, 50.0, "logistic"),
    ([0, 0, 0, 0, 104], 0.0, 5.0, "normalised"), ([104, 0, 0, 0, 0], 0.0, 5.0, "normalised"),
    ([0, 0, 0, 100, 0], 0.0, 5.0, "normalised"), ([10, 0, 1], -100.0, 0.0, "logistic"), ([0, 5, 20, 10, 3], 0.0, 30.0, "logistic"),
]
RATINGS = [
    [(1700, 75, 0, 25)], [(1320, 18, 1, 1), (1500, 14, 3, 3), (1700, 9, 4, 7), (1900, 4, 2, 14), (2100, 1, 1, 18)],
    [(1320, 20, 0, 0), (1500, 20, 0, 0), (1700, 19, 0, 1)], [(1320, 10, 0, 0), (1500, 10, 0, 0)],
    [(1320, 0, 0, 10), (1500, 0, 0, 10)], [(2000, 0, 10, 0)], [(2000, 1, 0, 0)], [(1320, 0, 1, 9)],
    [(1000, 0, 10, 0), (2000, 0, 10, 0)],
]
POOLS = [
    (2, [(0, 1, 75, 0, 25)]),
    (3, [(0, 1, 0, 2, 0), (1, 2, 400, 200, 300)]),
    (3, [(0, 1, 10, 5, 5), (1, 2, 8, 8, 4), (2, 0, 3, 6, 11)]),
    (5, [(a, b, 3 + 4 * (b - a), 6 - (b - a), 5 - (b - a)) for a in range(5) for b in range(a + 1, 5)]),
    (4, [(0, 1, 50, 0, 1), (1, 2, 50, 0, 1), (2, 3, 50, 0, 1)]),
    (3, [(0, 1, 0, 10, 0), (1, 2, 0, 10, 0)]),
]


def write(name, rows):
    text = ",\n".join(json.dumps(row) for row in rows)
    (OUT / name).write_text(f"[\n{text}\n]\n")


OUT.mkdir(parents=True, exist_ok=True)
write("elo.json", [estimate(counts) for counts in ESTIMATES])
write("sprt.json", [llr(*case) for case in RATIOS])
write("rating.json", [rate(opponents) for opponents in RATINGS])
write("pool.json", [pool(*case) for case in POOLS])
