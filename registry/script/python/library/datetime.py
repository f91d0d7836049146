# Dates and times. Time zones are fixed offsets: there is no table of zones.
import _host

MINYEAR, MAXYEAR = 1, 9999
_DAYS = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)
_NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")


def _leap(y):
    return y % 4 == 0 and (y % 100 != 0 or y % 400 == 0)


def _length(y, m):
    return 29 if m == 2 and _leap(y) else (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[m - 1]


# _ordinal returns the number of a day; 1 is the first of January of year 1.
def _ordinal(y, m, d):
    y1 = y - 1
    return y1 * 365 + y1 // 4 - y1 // 100 + y1 // 400 + _DAYS[m - 1] + (1 if m > 2 and _leap(y) else 0) + d


def _from_ordinal(n):
    if not 1 <= n <= 3652059:
        raise OverflowError("date value out of range")
    n -= 1
    y400, n = divmod(n, 146097)
    y100, n = divmod(n, 36524)
    y4, n = divmod(n, 1461)
    y1, n = divmod(n, 365)
    y = y400 * 400 + y100 * 100 + y4 * 4 + y1 + 1
    if y1 == 4 or y100 == 4:
        return y - 1, 12, 31
    m = 1
    while n >= _length(y, m):
        n -= _length(y, m)
        m += 1
    return y, m, n + 1


class timedelta:
    def __init__(self, days=0, seconds=0, microseconds=0, milliseconds=0, minutes=0, hours=0, weeks=0):
        days += weeks * 7
        seconds += minutes * 60 + hours * 3600
        microseconds += milliseconds * 1000
        if isinstance(days, float):
            whole = int(days // 1)
            seconds += (days - whole) * 86400
            days = whole
        if isinstance(seconds, float):
            whole = int(seconds // 1)
            microseconds += (seconds - whole) * 1000000
            seconds = whole
        self._us = (days * 86400 + seconds) * 1000000 + (microseconds if isinstance(microseconds, int) else round(microseconds))

    @property
    def days(self):
        return self._us // 86400000000

    @property
    def seconds(self):
        return self._us % 86400000000 // 1000000

    @property
    def microseconds(self):
        return self._us % 1000000

    def total_seconds(self):
        return self._us / 1000000

    def __add__(self, o):
        if isinstance(o, timedelta):
            return timedelta(microseconds=self._us + o._us)
        return o + self

    def __sub__(self, o):
        return timedelta(microseconds=self._us - o._us)

    def __mul__(self, n):
        return timedelta(microseconds=self._us * n)

    __rmul__ = __mul__

    def __truediv__(self, o):
        return self._us / o._us if isinstance(o, timedelta) else timedelta(microseconds=self._us / o)

    def __floordiv__(self, o):
        return self._us // o._us if isinstance(o, timedelta) else timedelta(microseconds=self._us // o)

    def __mod__(self, o):
        return timedelta(microseconds=self._us % o._us)

    def __neg__(self):
        return timedelta(microseconds=-self._us)

    def __abs__(self):
        return timedelta(microseconds=abs(self._us))

    def __bool__(self):
        return self._us != 0

    def __eq__(self, o):
        return isinstance(o, timedelta) and self._us == o._us

    def __lt__(self, o):
        return self._us < o._us

    def __le__(self, o):
        return self._us <= o._us

    def __gt__(self, o):
        return self._us > o._us

    def __ge__(self, o):
        return self._us >= o._us

    def __hash__(self):
        return hash(self._us)

    def __str__(self):
        text = "%d:%02d:%02d" % (self.seconds // 3600, self.seconds // 60 % 60, self.seconds % 60)
        if self.days:
            text = "%d day%s, %s" % (self.days, "" if abs(self.days) == 1 else "s", text)
        return text + (".%06d" % self.microseconds if self.microseconds else "")

    def __repr__(self):
        parts = ["%s=%d" % (n, v) for n, v in (("days", self.days), ("seconds", self.seconds), ("microseconds", self.microseconds)) if v]
        return "datetime.timedelta(%s)" % (", ".join(parts) or "0")


class timezone:
    def __init__(self, offset, name=None):
        self._offset, self._name = offset, name

    def utcoffset(self, dt):
        return self._offset

    def dst(self, dt):
        return None

    def tzname(self, dt):
        return self._name or ("UTC" + (_offset_text(self._offset) if self._offset else ""))

    def __eq__(self, o):
        return isinstance(o, timezone) and self._offset == o._offset

    def __hash__(self):
        return hash(self._offset)

    def __str__(self):
        return self.tzname(None)

    def __repr__(self):
        return "datetime.timezone.utc" if not self._offset and not self._name else "datetime.timezone(%r)" % self._offset


tzinfo = timezone
timezone.utc = timezone(timedelta(0))
UTC = timezone.utc


def _offset_text(offset):
    seconds = offset._us // 1000000
    sign = "-" if seconds < 0 else "+"
    seconds = abs(seconds)
    text = "%s%02d:%02d" % (sign, seconds // 3600, seconds // 60 % 60)
    return text + (":%02d" % (seconds % 60) if seconds % 60 else "")


def _check_date(y, m, d):
    if not MINYEAR <= y <= MAXYEAR:
        raise ValueError("year %d is out of range" % y)
    if not 1 <= m <= 12:
        raise ValueError("month must be in 1..12")
    if not 1 <= d <= _length(y, m):
        raise ValueError("day is out of range for month")


def _number(s, low, high):
    part = s[low:high]
    if len(part) != high - low or not part.isdigit():
        raise ValueError("Invalid isoformat string: %r" % s)
    return int(part)


def _parse_date(s):
    if len(s) == 8 and s.isdigit():
        return _number(s, 0, 4), _number(s, 4, 6), _number(s, 6, 8)
    if len(s) != 10 or s[4] != "-" or s[7] != "-":
        raise ValueError("Invalid isoformat string: %r" % s)
    return _number(s, 0, 4), _number(s, 5, 7), _number(s, 8, 10)


def _parse_time(s):
    zone = None
    if s.endswith("Z"):
        s, zone = s[:-1], UTC
    else:
        at = max(s.rfind("+"), s.rfind("-"))
        if at >= 0:
            h, m, sec, us = _parse_clock(s[at + 1 :])
            offset = timedelta(hours=h, minutes=m, seconds=sec, microseconds=us)
            zone = timezone(-offset if s[at] == "-" else offset)
            zone = UTC if not offset else zone
            s = s[:at]
    return _parse_clock(s) + (zone,)


def _parse_clock(s):
    clock, dot, fraction = s.replace(",", ".").partition(".")
    parts = clock.split(":") if ":" in clock else [clock[i : i + 2] for i in range(0, len(clock), 2)]
    if not 1 <= len(parts) <= 3 or dot and not fraction.isdigit():
        raise ValueError("Invalid isoformat string: %r" % s)
    all = [_number(p, 0, 2) for p in parts if len(p) == 2]
    if len(all) != len(parts):
        raise ValueError("Invalid isoformat string: %r" % s)
    all += [0] * (3 - len(all))
    return all[0], all[1], all[2], int((fraction + "000000")[:6]) if dot else 0


def _clock_text(h, m, s, us, timespec="auto"):
    if timespec == "auto":
        timespec = "microseconds" if us else "seconds"
    full = "%02d:%02d:%02d" % (h, m, s)
    return {"hours": full[:2], "minutes": full[:5], "seconds": full, "milliseconds": "%s.%03d" % (full, us // 1000), "microseconds": "%s.%06d" % (full, us)}[timespec]


class date:
    def __init__(self, year, month, day):
        _check_date(year, month, day)
        self.year, self.month, self.day = year, month, day

    @classmethod
    def today(cls):
        return cls.fromtimestamp(_host.now() // 1000000000)

    @classmethod
    def fromtimestamp(cls, t):
        return cls.fromordinal(int(t // 86400) + 719163)

    @classmethod
    def fromordinal(cls, n):
        return cls(*_from_ordinal(n))

    @classmethod
    def fromisoformat(cls, s):
        return cls(*_parse_date(s))

    def toordinal(self):
        return _ordinal(self.year, self.month, self.day)

    def weekday(self):
        return (self.toordinal() + 6) % 7

    def isoweekday(self):
        return self.weekday() + 1

    def isocalendar(self):
        thursday = self.toordinal() - self.weekday() + 3
        y = _from_ordinal(thursday)[0]
        return y, (thursday - _ordinal(y, 1, 1)) // 7 + 1, self.isoweekday()

    def isoformat(self):
        return "%04d-%02d-%02d" % (self.year, self.month, self.day)

    __str__ = isoformat

    def __repr__(self):
        return "datetime.date(%d, %d, %d)" % (self.year, self.month, self.day)

    def replace(self, year=None, month=None, day=None):
        return type(self)(year or self.year, month or self.month, day or self.day)

    def strftime(self, form):
        return _format(self, form)

    __format__ = strftime

    def _key(self):
        return self.toordinal() * 86400000000

    def _other(self, o):
        if type(o) is not type(self):
            raise TypeError("can't compare %s to %s" % (type(self).__name__, type(o).__name__))
        return o._key()

    def __eq__(self, o):
        return type(o) is type(self) and self._key() == o._key()

    def __lt__(self, o):
        return self._key() < self._other(o)

    def __le__(self, o):
        return self._key() <= self._other(o)

    def __gt__(self, o):
        return self._key() > self._other(o)

    def __ge__(self, o):
        return self._key() >= self._other(o)

    def __hash__(self):
        return hash(self._key())

    def __add__(self, o):
        return type(self).fromordinal(self.toordinal() + o.days)

    __radd__ = __add__

    def __sub__(self, o):
        if isinstance(o, timedelta):
            return type(self).fromordinal(self.toordinal() - o.days)
        return timedelta(days=self.toordinal() - o.toordinal())


class time:
    def __init__(self, hour=0, minute=0, second=0, microsecond=0, tzinfo=None):
        if not (0 <= hour <= 23 and 0 <= minute <= 59 and 0 <= second <= 59 and 0 <= microsecond <= 999999):
            raise ValueError("the time is out of range")
        self.hour, self.minute, self.second, self.microsecond, self.tzinfo = hour, minute, second, microsecond, tzinfo

    @classmethod
    def fromisoformat(cls, s):
        return cls(*_parse_time(s[1:] if s.startswith("T") else s))

    def isoformat(self, timespec="auto"):
        return _clock_text(self.hour, self.minute, self.second, self.microsecond, timespec) + (_offset_text(self.tzinfo.utcoffset(None)) if self.tzinfo else "")

    def __str__(self):
        return self.isoformat()

    def __repr__(self):
        return "datetime.time(%d, %d, %d, %d)" % (self.hour, self.minute, self.second, self.microsecond)

    def _key(self):
        return ((self.hour * 60 + self.minute) * 60 + self.second) * 1000000 + self.microsecond

    def __eq__(self, o):
        return isinstance(o, time) and self._key() == o._key()

    def __lt__(self, o):
        return self._key() < o._key()

    def __hash__(self):
        return hash(self._key())


class datetime(date):
    def __init__(self, year, month, day, hour=0, minute=0, second=0, microsecond=0, tzinfo=None):
        date.__init__(self, year, month, day)
        t = time(hour, minute, second, microsecond)
        self.hour, self.minute, self.second, self.microsecond, self.tzinfo = hour, minute, second, microsecond, tzinfo

    @classmethod
    def now(cls, tz=None):
        return cls._from_us(_host.now() // 1000, tz)

    @classmethod
    def utcnow(cls):
        return cls.now()

    @classmethod
    def fromtimestamp(cls, t, tz=None):
        return cls._from_us(round(t * 1000000), tz)

    @classmethod
    def utcfromtimestamp(cls, t):
        return cls.fromtimestamp(t)

    @classmethod
    def _from_us(cls, us, tz):
        if tz is not None:
            us += tz.utcoffset(None)._us
        return cls._of(us + 719163 * 86400000000, tz)

    @classmethod
    def _of(cls, us, tz):
        day, us = divmod(us, 86400000000)
        s, us = divmod(us, 1000000)
        y, m, d = _from_ordinal(day)
        return cls(y, m, d, s // 3600, s // 60 % 60, s % 60, us, tz)

    @classmethod
    def fromordinal(cls, n):
        return cls(*_from_ordinal(n))

    @classmethod
    def combine(cls, d, t):
        return cls(d.year, d.month, d.day, t.hour, t.minute, t.second, t.microsecond, t.tzinfo)

    @classmethod
    def fromisoformat(cls, s):
        at = 8 if len(s) == 8 or len(s) > 8 and s[8] in "T " else 10
        y, m, d = _parse_date(s[:at])
        if len(s) == at:
            return cls(y, m, d)
        return cls(y, m, d, *_parse_time(s[at + 1 :]))

    def date(self):
        return date(self.year, self.month, self.day)

    def time(self):
        return time(self.hour, self.minute, self.second, self.microsecond)

    def utcoffset(self):
        return self.tzinfo.utcoffset(self) if self.tzinfo else None

    def tzname(self):
        return self.tzinfo.tzname(self) if self.tzinfo else None

    def astimezone(self, tz=None):
        return type(self)._from_us(self._utc() - 719163 * 86400000000, tz or UTC)

    def timestamp(self):
        return (self._utc() - 719163 * 86400000000) / 1000000

    def isoformat(self, sep="T", timespec="auto"):
        text = date.isoformat(self) + sep + _clock_text(self.hour, self.minute, self.second, self.microsecond, timespec)
        return text + (_offset_text(self.utcoffset()) if self.tzinfo else "")

    def __str__(self):
        return self.isoformat(" ")

    def __repr__(self):
        parts = [self.year, self.month, self.day, self.hour, self.minute]
        if self.second or self.microsecond:
            parts.append(self.second)
        if self.microsecond:
            parts.append(self.microsecond)
        return "datetime.datetime(%s%s)" % (", ".join(str(p) for p in parts), ", tzinfo=%r" % self.tzinfo if self.tzinfo else "")

    def replace(self, **changes):
        made = {n: getattr(self, n) for n in ("year", "month", "day", "hour", "minute", "second", "microsecond", "tzinfo")}
        made.update(changes)
        return type(self)(**made)

    def _local(self):
        return (((self.toordinal() * 24 + self.hour) * 60 + self.minute) * 60 + self.second) * 1000000 + self.microsecond

    def _utc(self):
        return self._local() - (self.utcoffset()._us if self.tzinfo else 0)

    _key = _utc

    def _other(self, o):
        if not isinstance(o, datetime):
            raise TypeError("can't compare datetime to %s" % type(o).__name__)
        if (self.tzinfo is None) != (o.tzinfo is None):
            raise TypeError("can't compare offset-naive and offset-aware datetimes")
        return o._utc()

    def __add__(self, o):
        return type(self)._of(self._local() + o._us, self.tzinfo)

    __radd__ = __add__

    def __sub__(self, o):
        if isinstance(o, timedelta):
            return type(self)._of(self._local() - o._us, self.tzinfo)
        if (self.tzinfo is None) != (o.tzinfo is None):
            raise TypeError("can't subtract offset-naive and offset-aware datetimes")
        return timedelta(microseconds=self._utc() - o._utc())


def _format(d, form):
    hour, minute, second, us = getattr(d, "hour", 0), getattr(d, "minute", 0), getattr(d, "second", 0), getattr(d, "microsecond", 0)
    out, i = [], 0
    while i < len(form):
        c = form[i]
        if c != "%" or i + 1 == len(form):
            out.append(c)
            i += 1
            continue
        c = form[i + 1]
        i += 2
        if c == "Y":
            text = "%d" % d.year
        elif c == "y":
            text = "%02d" % (d.year % 100)
        elif c == "m":
            text = "%02d" % d.month
        elif c == "d":
            text = "%02d" % d.day
        elif c == "H":
            text = "%02d" % hour
        elif c == "I":
            text = "%02d" % ((hour + 11) % 12 + 1)
        elif c == "M":
            text = "%02d" % minute
        elif c == "S":
            text = "%02d" % second
        elif c == "f":
            text = "%06d" % us
        elif c == "p":
            text = "AM" if hour < 12 else "PM"
        elif c == "A":
            text = _NAMES[d.weekday()]
        elif c == "a":
            text = _NAMES[d.weekday()][:3]
        elif c == "B":
            text = _MONTHS[d.month - 1]
        elif c == "b":
            text = _MONTHS[d.month - 1][:3]
        elif c == "j":
            text = "%03d" % (d.toordinal() - _ordinal(d.year, 1, 1) + 1)
        elif c == "w":
            text = "%d" % (d.isoweekday() % 7)
        elif c == "u":
            text = "%d" % d.isoweekday()
        elif c == "F":
            text = date.isoformat(d)
        elif c == "T":
            text = "%02d:%02d:%02d" % (hour, minute, second)
        elif c == "z":
            text = _offset_text(d.utcoffset()).replace(":", "") if getattr(d, "tzinfo", None) else ""
        elif c == "Z":
            text = (d.tzname() or "") if hasattr(d, "tzname") else ""
        elif c == "%":
            text = "%"
        else:
            raise ValueError("strftime: %%%s is not supported" % c)
        out.append(text)
    return "".join(out)
