import _host


def time():
    return _host.now() / 1000000000


def time_ns():
    return _host.now()


def monotonic():
    return _host.monotonic() / 1000000000


perf_counter = monotonic


def monotonic_ns():
    return _host.monotonic()


perf_counter_ns = monotonic_ns


def sleep(seconds):
    _host.sleep(seconds)
