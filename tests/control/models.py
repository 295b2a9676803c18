"""Models of the trades: filters, finance, statistics, physics, sequences, signals, networks."""

# ruff: noqa: B905

import math

import numpy as np

from tests.control.case import Corpus

corpus = Corpus()
case = corpus.case
rng = np.random.default_rng(7)

X = rng.normal(size=8)


# ---- filters and signals


@case((X, 0.3))
def exponential_average(x, alpha):
    y = x[0]
    out = [y]
    for v in x[1:]:
        y = alpha * v + (1 - alpha) * y
        out.append(y)
    return np.array(out)


@case((X, np.array([0.2, 0.3, 0.1]), np.array([0.5, -0.2])))
def infinite_impulse_response(x, b, a):
    y = np.zeros(len(x))
    for n in range(len(x)):
        for k in range(3):
            if n - k >= 0:
                y[n] += b[k] * x[n - k]
        for k in range(2):
            if n - k - 1 >= 0:
                y[n] -= a[k] * y[n - k - 1]
    return y


@case((X, np.array([0.5, 0.3, -0.2])))
def direct_convolution(x, h):
    out = np.zeros(len(x) + len(h) - 1)
    for i in range(len(x)):
        for j in range(len(h)):
            out[i + j] += x[i] * h[j]
    return out


@case((X, 0.4, 0.1))
def scalar_kalman(z, q, r):
    x, p, likelihood = 0.0, 1.0, 0.0
    for v in z:
        p = p + q
        s = p + r
        k = p / s
        e = v - x
        likelihood -= 0.5 * (math.log(s) + e * e / s)
        x = x + k * e
        p = (1 - k) * p
    return likelihood


@case((np.array([0.0, 1.0]), np.eye(2), rng.normal(size=(5, 1)), 0.2))
def matrix_kalman(x, p, seen, q):
    f = np.array([[1.0, 0.1], [0.0, 1.0]])
    total = 0.0
    for z in seen:
        x = f @ x
        p = f @ p @ f.T + q * np.eye(2)
        s = p[0, 0] + 0.1
        gain = p[:, 0] / s
        e = z[0] - x[0]
        x = x + gain * e
        p = p - np.outer(gain, p[0])
        total += math.log(s) + e * e / s
    return total


@case((X, 1.5))
def limiter_with_release(x, gain):
    envelope = 0.0
    out = np.zeros_like(x)
    for i, v in enumerate(x):
        level = abs(v) * gain
        if level > envelope:
            envelope = level
        else:
            envelope *= 0.9
        out[i] = v * gain / envelope if envelope > 0.5 else v * gain
    return out


@case((X,))
def haar_wavelet(x):
    a = x.copy()
    n = len(a)
    while n > 1:
        half = n // 2
        b = a.copy()
        for i in range(half):
            b[i] = (a[2 * i] + a[2 * i + 1]) / math.sqrt(2)
            b[half + i] = (a[2 * i] - a[2 * i + 1]) / math.sqrt(2)
        a = b
        n = half
    return a


@case((X,))
def slow_fourier_power(x):
    n = len(x)
    power = np.zeros(n // 2)
    for k in range(n // 2):
        re = im = 0.0
        for t in range(n):
            angle = 2 * math.pi * k * t / n
            re += x[t] * math.cos(angle)
            im -= x[t] * math.sin(angle)
        power[k] = re * re + im * im
    return power


@case((0.8, 0.1, X))
def pid_controller(kp, ki, target):
    y, integral, cost = 0.0, 0.0, 0.0
    for goal in target:
        e = goal - y
        integral += e
        if integral > 1.5:
            integral = 1.5
        y += 0.3 * (kp * e + ki * integral)
        cost += e * e
    return cost


# ---- finance


@case((100.0, 95.0, 0.2, 0.05, 8), (100.0, 130.0, 0.2, 0.05, 5))
def american_put_on_a_tree(spot, strike, vol, rate, n):
    dt = 1.0 / 8
    up = math.exp(vol * math.sqrt(dt))
    p = (math.exp(rate * dt) - 1 / up) / (up - 1 / up)
    discount = math.exp(-rate * dt)
    v = np.zeros(9)
    for j in range(n + 1):
        v[j] = max(strike - spot * up ** (2 * j - n), 0.0)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1):
            hold = discount * (p * v[j + 1] + (1 - p) * v[j])
            v[j] = max(hold, strike - spot * up ** (2 * j - i))
    return v[0]


@case((100.0, 0.04, 0.09, 1.2, 0.3, rng.normal(size=(2, 12))))
def heston_path(spot, v, theta, kappa, sigma, z):
    dt = 1 / 12
    s = spot
    for i in range(12):
        root = math.sqrt(v * dt) if v > 0 else 0.0
        s = s * math.exp(-0.5 * v * dt + root * z[0, i])
        v = v + kappa * (theta - v) * dt + sigma * root * z[1, i]
        if v < 0:
            v = -v
    return max(s - 75.0, 0.0)


@case((0.03, np.array([0.01, 0.02, 0.025, 0.03])))
def bond_ladder(spread, rates):
    price, discount = 0.0, 1.0
    for year, r in enumerate(rates, start=1):
        discount /= 1 + r + spread
        price += 5.0 * discount
        if year == len(rates):
            price += 100.0 * discount
    return price


@case((95.0,), (107.0,))
def yield_to_maturity(price):
    y = 0.05
    for _ in range(100):
        value, slope = 0.0, 0.0
        for t in range(1, 6):
            flow = 6.0 + (100.0 if t == 5 else 0.0)
            value += flow / (1 + y) ** t
            slope -= t * flow / (1 + y) ** (t + 1)
        step = (value - price) / slope
        y -= step
        if abs(step) < 1e-14:
            break
    return y


@case((10.45, 100.0, 105.0, 1.0), (3.0, 100.0, 105.0, 0.5))
def implied_volatility(price, s, k, t):
    vol = 0.3
    while True:
        d1 = (math.log(s / k) + 0.5 * vol * vol * t) / (vol * math.sqrt(t))
        d2 = d1 - vol * math.sqrt(t)
        value = s * 0.5 * (1 + math.erf(d1 / math.sqrt(2))) - k * 0.5 * (1 + math.erf(d2 / math.sqrt(2)))
        vega = s * math.sqrt(t) * math.exp(-0.5 * d1 * d1) / math.sqrt(2 * math.pi)
        step = (value - price) / vega
        vol -= step
        if abs(step) < 1e-12:
            return vol


@case((1.0, 0.3, rng.normal(size=(4, 5))))
def barrier_option(spot, vol, z):
    total = 0.0
    for path in z:
        s = spot
        for step in path:
            s *= 1 + vol * 0.2 * step
            if s < 0.85:
                break
        else:
            total += (s - 0.9) ** 2
    return total / len(z)


@case((np.array([1.0, 1.1, 0.9, 1.05, 0.95]), 0.9))
def drawdown(prices, weight):
    peak, worst = prices[0], 0.0
    for p in prices:
        peak = max(peak, p)
        fall = (peak - p) / peak
        if fall > worst:
            worst = fall
    return worst * weight + prices[-1] ** 2


@case((1000.0, 0.4, 12), (1000.0, 0.4, 3))
def mortgage(debt, rate, months):
    paid = 0.0
    for m in range(months):
        interest = debt * rate * 0.01
        payment = 120.0 if m < 6 else 150.0
        if payment > debt + interest:
            payment = debt + interest
        debt = debt + interest - payment
        paid += interest
        if debt <= 0:
            break
    return paid + debt


# ---- statistics


@case(
    (
        np.array([0.6, 0.4]),
        np.array([[0.7, 0.3], [0.2, 0.8]]),
        np.array([[0.9, 0.1], [0.3, 0.7]]),
        np.array([0, 1, 1, 0]),
    )
)
def hidden_markov_forward(start, move, emit, seen):
    alpha = start * emit[:, seen[0]]
    log_likelihood = 0.0
    for t in range(1, len(seen)):
        total = alpha.sum()
        log_likelihood += math.log(total)
        alpha = (alpha / total) @ move * emit[:, seen[t]]
    return log_likelihood + math.log(alpha.sum())


@case((np.array([[0.7, 0.3], [0.2, 0.8]]), np.array([[0.9, 0.1], [0.3, 0.7]]), np.array([0, 1, 1, 0])))
def viterbi_score(move, emit, seen):
    score = np.log(emit[:, seen[0]])
    for o in seen[1:]:
        new = np.zeros(2)
        for j in range(2):
            best = score[0] + math.log(move[0, j])
            for i in range(1, 2):
                c = score[i] + math.log(move[i, j])
                if c > best:
                    best = c
            new[j] = best + math.log(emit[j, o])
        score = new
    return max(score[0], score[1])


@case((X, 0.1, 0.8, 0.05))
def garch_likelihood(returns, omega, beta, alpha):
    h = omega / (1 - alpha - beta)
    total = 0.0
    for r in returns:
        total += math.log(h) + r * r / h
        h = omega + alpha * r * r + beta * h
    return -0.5 * total


@case((X,))
def welford(x):
    n, mean, m2 = 0, 0.0, 0.0
    for v in x:
        n += 1
        d = v - mean
        mean += d / n
        m2 += d * (v - mean)
    return mean, m2 / (n - 1)


@case((X[:4].copy(), 0.5), (X[:4].copy(), 3.0))
def mixture_density(x, t):
    total = 0.0
    for v in x:
        parts = [0.3 * math.exp(-0.5 * v * v), 0.7 * math.exp(-0.5 * (v - t) ** 2)]
        p = 0.0
        for part in parts:
            p += part
        total += math.log(p) if p > 1e-3 else p
    return total


@case((rng.normal(size=(6, 2)), np.array([0.3, -0.2]), 0.1, np.array([1, 0, 1, 1, 0, 0])))
def logistic_regression(x, w, b, labels):
    loss = 0.0
    for i in range(len(labels)):
        z = x[i] @ w + b
        if z > 0:
            log_one = math.log(1 + math.exp(-z))
        else:
            log_one = math.log(1 + math.exp(z)) - z
        loss += log_one if labels[i] == 1 else log_one + z
    return loss / len(labels)


@case((0.5, 0.2, np.array([0.3, 0.9, 0.5, 0.1]), rng.normal(size=4)))
def metropolis_with_given_noise(x, width, uniforms, noise):
    total = 0.0
    for u, z in zip(uniforms, noise):
        new = x + width * z
        log_ratio = 0.5 * (x * x - new * new)
        if log_ratio > 0 or u < math.exp(log_ratio):
            x = new
        total += x * x
    return total


@case((3.7, 0.3, 4))
def lyapunov_exponent(r, x, n):
    s = 0.0
    for _ in range(n):
        s += math.log(abs(r * (1 - 2 * x)))
        x = r * x * (1 - x)
    return s / n


@case((2.5,), (0.3,), tolerance=1e-8)
def log_gamma(x):
    shift = 0.0
    while x < 8:
        shift -= math.log(x)
        x += 1
    r = 1 / (x * x)
    return shift + (x - 0.5) * math.log(x) - x + 0.9189385332046727 + (1 / 12 - r * (1 / 360 - r / 1260)) / x


@case((2.0, 1.5), (2.0, 6.0))
def incomplete_gamma(a, x):
    if x < a + 1:
        term = s = 1 / a
        n = a
        while abs(term) > 1e-16 * abs(s):
            n += 1
            term *= x / n
            s += term
        return s * math.exp(-x) * x**a
    b = x + 1 - a
    c = 1e30
    d = 1 / b
    h = d
    for i in range(1, 60):
        an = -i * (i - a)
        b += 2
        d = 1 / (an * d + b)
        c = b + an / c
        h *= d * c
    return h * math.exp(-x) * x**a


# ---- physics


@case((rng.normal(size=(3, 2)), rng.normal(size=(3, 2)) * 0.1, 3))
def bodies(x, v, steps):
    x, v = x.copy(), v.copy()
    for _ in range(steps):
        for i in range(3):
            pull = np.zeros(2)
            for j in range(3):
                if i != j:
                    d = x[j] - x[i]
                    pull = pull + d / (d @ d + 0.1) ** 1.5
            v[i] += 0.01 * pull
        x += 0.01 * v
    return x


@case((X, 0.2, 5))
def heat_on_a_rod(u, k, steps):
    u = u.copy()
    for _ in range(steps):
        new = u.copy()
        for i in range(1, len(u) - 1):
            new[i] = u[i] + k * (u[i - 1] - 2 * u[i] + u[i + 1])
        u = new
    return u


@case((X, 0.3, 4))
def wave_equation(u, c, steps):
    before, now = u, u
    for _ in range(steps):
        after = np.zeros_like(now)
        after[1:-1] = 2 * now[1:-1] - before[1:-1] + c * c * (now[2:] - 2 * now[1:-1] + now[:-2])
        before, now = now, after
    return now


@case((rng.normal(size=(4, 4)), 0.4))
def smooth_ising(spins, coupling):
    e = 0.0
    for i in range(4):
        for j in range(4):
            s = math.tanh(spins[i, j])
            e -= coupling * s * math.tanh(spins[(i + 1) % 4, j])
            e -= coupling * s * math.tanh(spins[i, (j + 1) % 4])
    return e


@case((1.0, 2.0, 0.9))
def bouncing_ball(height, speed, bounce):
    y, v, lost = height, speed, 0.0
    for _ in range(60):
        v -= 9.81 * 0.02
        y += v * 0.02
        if y < 0:
            y = -y * bounce
            v = -v * bounce
            lost += 0.01 * v * v
    return y + lost


@case((np.array([0.0, 1.0, 2.1, 3.3]), 1.2))
def lennard_jones_with_a_cutoff(x, sigma):
    e = 0.0
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            r = abs(x[j] - x[i])
            if r < 2.5:
                s6 = (sigma / r) ** 6
                e += 4 * (s6 * s6 - s6)
    return e


@case((0.3, np.array([1.0, 1.5, 1.33]), np.array([0.5, 0.2, 0.4])))
def ray_through_layers(angle, index, thickness):
    x = 0.0
    s = math.sin(angle)
    for k in range(3):
        sk = s * index[0] / index[k]
        if sk >= 1:
            return x - 1.0
        x += thickness[k] * sk / math.sqrt(1 - sk * sk)
    return x


@case((0.2, -0.3, 20), (1.2, 0.3, 20))
def mandelbrot_orbit(a, b, n):
    x = y = 0.0
    for _ in range(n):
        x, y = x * x - y * y + a, 2 * x * y + b
        if x * x + y * y > 4:
            break
    return x * x + y * y


# ---- alignment and dynamic programming


@case((rng.uniform(0.1, 2, size=(4, 5)),))
def soft_dtw(d):
    n, m = d.shape
    r = np.full((n + 1, m + 1), 1e8)
    r[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            a, b, c = -r[i - 1, j - 1], -r[i - 1, j], -r[i, j - 1]
            top = max(max(a, b), c)
            r[i, j] = d[i - 1, j - 1] - top - math.log(math.exp(a - top) + math.exp(b - top) + math.exp(c - top))
    return r[n, m]


@case((X[:4].copy(), X[2:7].copy()))
def time_warping(a, b):
    n, m = len(a), len(b)
    t = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            cost = (a[i] - b[j]) ** 2
            if i == 0 and j == 0:
                t[i, j] = cost
            elif i == 0:
                t[i, j] = cost + t[i, j - 1]
            elif j == 0:
                t[i, j] = cost + t[i - 1, j]
            else:
                t[i, j] = cost + min(t[i - 1, j], t[i, j - 1], t[i - 1, j - 1])
    return t[n - 1, m - 1]


@case((np.array([0, 1, 2, 1]), np.array([1, 2, 2]), np.array([1.0, 0.7, 1.3])))
def edit_distance_with_costs(s, t, costs):
    insert, delete, change = costs
    before = [j * insert for j in range(len(t) + 1)]
    for i in range(1, len(s) + 1):
        row = [i * delete]
        for j in range(1, len(t) + 1):
            same = before[j - 1] if s[i - 1] == t[j - 1] else before[j - 1] + change
            row.append(min(same, before[j] + delete * 1.01, row[j - 1] + insert * 1.02))
        before = row
    return before[-1] ** 2


@case((np.array([1.0, 2.5, 0.7, 1.9]), np.array([2, 3, 1, 2]), 5))
def knapsack(values, sizes, room):
    best = np.zeros(6)
    for k in range(len(values)):
        for r in range(room, sizes[k] - 1, -1):
            c = best[r - sizes[k]] + values[k]
            if c > best[r]:
                best[r] = c
    return best[room] ** 2


@case((rng.uniform(0.5, 2.0, size=(4, 4)),))
def floyd_warshall(w):
    d = w.copy()
    for k in range(4):
        for i in range(4):
            for j in range(4):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]
    return d * d


@case((np.array([3.0, 1.0, 2.0, 5.0]),), (np.array([1.0, 2.0, 3.0, 4.0]),))
def sorting_network(a):
    v = [a[0], a[1], a[2], a[3]]
    for i, j in ((0, 1), (2, 3), (0, 2), (1, 3), (1, 2)):
        if v[i] > v[j]:
            v[i], v[j] = v[j], v[i]
    return v[0] * v[1] + v[2] ** 2 - v[3]


# ---- networks


@case((rng.normal(size=(5, 2)), rng.normal(size=(2, 8)) * 0.5, rng.normal(size=(2, 8)) * 0.5, rng.normal(size=8) * 0.1))
def lstm(xs, wx, wh, b):
    h, c = np.zeros(2), np.zeros(2)
    for x in xs:
        z = x @ wx + h @ wh + b
        i, f, o = (1 / (1 + np.exp(-z[k : k + 2])) for k in (0, 2, 4))
        c = f * c + i * np.tanh(z[6:8])
        h = o * np.tanh(c)
    return h


LAYERS = [np.array([0.5, -0.3]), np.array([0.2, 0.9])]


@case((X, LAYERS, True), (X, LAYERS, False))
def layers_in_a_list(x, layers, residual):
    for w in layers:
        y = np.tanh(x * w[0] + w[1])
        x = x + y if residual else y
    return x


@case((rng.normal(size=(4, 3)), 3))
def attention_by_hand(x, n):
    out = np.zeros((4, 3))
    for i in range(4):
        scores = np.zeros(4)
        for j in range(i + 1):
            scores[j] = math.exp(x[i] @ x[j] / math.sqrt(n))
        total = scores.sum()
        for j in range(i + 1):
            out[i] += scores[j] / total * x[j]
    return out


@case((X, 0.3), (X, 5.0))
def deep_equilibrium(x, scale):
    z = np.zeros_like(x)
    for _ in range(60):
        new = np.tanh(scale / 6 * z + x)
        gap = np.max(np.abs(new - z))
        z = new
        if gap < 1e-10:
            break
    return z
