def count(start=0, step=1):
    while True:
        yield start
        start += step


def cycle(values):
    kept = list(values)
    while kept:
        yield from kept


def repeat(v, times=None):
    while times is None or times > 0:
        yield v
        if times is not None:
            times -= 1


class chain:
    def __init__(self, *all):
        self._it = _chained(all)

    def __iter__(self):
        return self._it

    def __next__(self):
        return next(self._it)

    @staticmethod
    def from_iterable(all):
        return _chained(all)


def _chained(all):
    for values in all:
        yield from values


def islice(values, *args):
    start, stop, step = (args[0] or 0, args[1], args[2] if len(args) > 2 and args[2] else 1) if len(args) > 1 else (0, args[0], 1)
    i, next_one = 0, start
    if stop is not None and start >= stop:
        return
    for v in values:
        if i == next_one:
            yield v
            next_one += step
        i += 1
        if stop is not None and (i >= stop or next_one >= stop):
            return


def takewhile(test, values):
    for v in values:
        if not test(v):
            return
        yield v


def dropwhile(test, values):
    dropping = True
    for v in values:
        if dropping and test(v):
            continue
        dropping = False
        yield v


def filterfalse(test, values):
    for v in values:
        if not (test(v) if test else v):
            yield v


def accumulate(values, func=None, *, initial=None):
    total, first = initial, initial is None
    if initial is not None:
        yield initial
    for v in values:
        total = v if first else (total + v if func is None else func(total, v))
        first = False
        yield total


def pairwise(values):
    it = iter(values)
    try:
        a = next(it)
    except StopIteration:
        return
    for b in it:
        yield a, b
        a = b


def zip_longest(*all, fillvalue=None):
    its = [iter(v) for v in all]
    live = len(its)
    while live:
        row = []
        for i, it in enumerate(its):
            if it is None:
                row.append(fillvalue)
                continue
            try:
                row.append(next(it))
            except StopIteration:
                its[i] = None
                live -= 1
                row.append(fillvalue)
        if live:
            yield tuple(row)


def starmap(f, values):
    for args in values:
        yield f(*args)


def product(*all, repeat=1):
    pools = [tuple(v) for v in all] * repeat
    out = [()]
    for pool in pools:
        out = [a + (b,) for a in out for b in pool]
    return iter(out)


def permutations(values, r=None):
    pool = tuple(values)
    r = len(pool) if r is None else r
    for at in product(range(len(pool)), repeat=r):
        if len(set(at)) == r:
            yield tuple(pool[i] for i in at)


def combinations(values, r):
    pool = tuple(values)

    def go(start, r):
        if r == 0:
            yield ()
            return
        for i in range(start, len(pool) - r + 1):
            for rest in go(i + 1, r - 1):
                yield (pool[i],) + rest

    return go(0, r)


def groupby(values, key=None):
    group, last, first = [], None, True
    for v in values:
        k = v if key is None else key(v)
        if not first and k != last:
            yield last, iter(group)
            group = []
        group.append(v)
        last, first = k, False
    if not first:
        yield last, iter(group)
