# Random numbers, from the generator that the host seeds for each call.
import _host

random = _host.uniform


def seed(a=None, version=2):
    import hashlib

    _host.seed(_host.random(16) if a is None else hashlib.sha256(repr(a).encode()).digest()[:16])


def getrandbits(k):
    v = 0
    while k > 0:
        n = min(k, 30)
        v = v << n | _host.bits(n)
        k -= n
    return v


def _below(n):
    if n <= 0:
        raise ValueError("empty range")
    k = 0
    while n >> k:
        k += 1
    while True:
        v = getrandbits(k)
        if v < n:
            return v


def randrange(start, stop=None, step=1):
    r = range(start) if stop is None else range(start, stop, step)
    return r[_below(len(r))]


def randint(a, b):
    return a + _below(b - a + 1)


def uniform(a, b):
    return a + (b - a) * random()


def choice(seq):
    if not len(seq):
        raise IndexError("Cannot choose from an empty sequence")
    return seq[_below(len(seq))]


def choices(population, weights=None, *, cum_weights=None, k=1):
    if weights is None and cum_weights is None:
        return [choice(population) for _ in range(k)]
    if cum_weights is None:
        cum_weights, total = [], 0
        for w in weights:
            total += w
            cum_weights.append(total)
    out = []
    for _ in range(k):
        x = random() * cum_weights[-1]
        out.append(population[next(i for i, w in enumerate(cum_weights) if x < w)])
    return out


def shuffle(x):
    for i in range(len(x) - 1, 0, -1):
        j = _below(i + 1)
        x[i], x[j] = x[j], x[i]


def sample(population, k):
    pool = list(population)
    if not 0 <= k <= len(pool):
        raise ValueError("Sample larger than population or is negative")
    shuffle(pool)
    return pool[:k]


def gauss(mu=0.0, sigma=1.0):
    import math

    return mu + sigma * math.sqrt(-2.0 * math.log(1.0 - random())) * math.cos(2 * math.pi * random())


normalvariate = gauss
