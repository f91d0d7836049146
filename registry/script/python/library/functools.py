def partial(f, *args, **kw):
    def call(*more, **others):
        all = dict(kw)
        all.update(others)
        return f(*(args + more), **all)

    return call


_missing = object()


def reduce(f, values, initial=_missing):
    it = iter(values)
    if initial is _missing:
        try:
            initial = next(it)
        except StopIteration:
            raise TypeError("reduce() of empty iterable with no initial value")
    for v in it:
        initial = f(initial, v)
    return initial


def wraps(wrapped, *args, **kw):
    return lambda f: f


def update_wrapper(f, wrapped, *args, **kw):
    return f


def lru_cache(maxsize=128, typed=False):
    def make(f):
        kept = {}

        def call(*args, **kw):
            key = (args, tuple(sorted(kw.items())))
            if key not in kept:
                if maxsize is not None and len(kept) >= maxsize:
                    del kept[next(iter(kept))]
                kept[key] = f(*args, **kw)
            return kept[key]

        return call

    if callable(maxsize):
        f, maxsize = maxsize, 128
        return make(f)
    return make


def cache(f):
    return lru_cache(None)(f)


def cmp_to_key(compare):
    class Key:
        def __init__(self, v):
            self.v = v

        def __lt__(self, o):
            return compare(self.v, o.v) < 0

        def __gt__(self, o):
            return compare(self.v, o.v) > 0

        def __eq__(self, o):
            return compare(self.v, o.v) == 0

    return Key
