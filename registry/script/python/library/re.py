# Regular expressions, with the names of CPython. _re has the matching; positions there are in bytes.
import _re

IGNORECASE = I = 2
MULTILINE = M = 8
DOTALL = S = 16
UNICODE = U = 32
VERBOSE = X = 64
ASCII = A = 256
NOFLAG = 0

_MAX_KEPT = 100
_kept = {}


class error(ValueError):
    def __init__(self, msg, pattern=None, pos=None):
        self.msg, self.pattern, self.pos = msg, pattern, pos
        super().__init__(msg if pos is None else "%s at position %d" % (msg, pos))


PatternError = error


class Match:
    def __init__(self, pattern, text, spans, pos, endpos):
        self.re, self.string, self._spans, self.pos, self.endpos = pattern, text, spans, pos, endpos

    def _number(self, group):
        if isinstance(group, str):
            group = self.re.groupindex.get(group, -1)
        if not 0 <= group <= self.re.groups:
            raise IndexError("no such group")
        return group

    def _part(self, n, default=None):
        begin, end = self._spans[2 * n], self._spans[2 * n + 1]
        return default if begin < 0 or end < 0 else _re.part(self.string, begin, end)

    def group(self, *groups):
        if not groups:
            return self._part(0)
        found = tuple(self._part(self._number(g)) for g in groups)
        return found[0] if len(found) == 1 else found

    def __getitem__(self, group):
        return self._part(self._number(group))

    def groups(self, default=None):
        return tuple(self._part(n, default) for n in range(1, self.re.groups + 1))

    def groupdict(self, default=None):
        return {name: self._part(n, default) for name, n in self.re.groupindex.items()}

    def span(self, group=0):
        n = self._number(group)
        begin, end = self._spans[2 * n], self._spans[2 * n + 1]
        return (-1, -1) if begin < 0 or end < 0 else (_re.index(self.string, begin), _re.index(self.string, end))

    def start(self, group=0):
        return self.span(group)[0]

    def end(self, group=0):
        return self.span(group)[1]

    @property
    def lastindex(self):
        last, end = None, -1
        for n in range(1, self.re.groups + 1):
            if self._spans[2 * n] >= 0 and self._spans[2 * n + 1] > end:
                last, end = n, self._spans[2 * n + 1]
        return last

    @property
    def lastgroup(self):
        for name, n in self.re.groupindex.items():
            if n == self.lastindex:
                return name

    def expand(self, template):
        return _filled(_template(template, self.re), self)

    def __repr__(self):
        return "<re.Match object; span=%r, match=%r>" % (self.span(), self.group())


class Pattern:
    def __init__(self, pattern, flags):
        try:
            self._program, self.groups, self.groupindex, self.flags = _re.compile(pattern, flags)
        except ValueError as e:
            if len(e.args) != 2:
                raise
            raise error(e.args[0], pattern, e.args[1]) from None
        self.pattern = pattern
        if isinstance(pattern, str) and not self.flags & ASCII:
            self.flags |= UNICODE

    def _run(self, text, pos, endpos, mode):
        begin = _re.position(text, max(pos, 0)) if pos else 0
        end = _size(text) if endpos is None else _re.position(text, max(endpos, 0))
        spans = _re.run(self._program, text, begin, end, mode)
        return None if spans is None else Match(self, text, spans, pos, len(text) if endpos is None else endpos)

    def search(self, string, pos=0, endpos=None):
        return self._run(string, pos, endpos, 0)

    def match(self, string, pos=0, endpos=None):
        return self._run(string, pos, endpos, 1)

    def fullmatch(self, string, pos=0, endpos=None):
        return self._run(string, pos, endpos, 2)

    # _all yields the positions of matches that do not overlap. After an empty one, a longer one may begin at the same place.
    def _all(self, text, begin=0, end=None):
        end = _size(text) if end is None else end
        empty = False
        while begin <= end:
            spans = _re.run(self._program, text, begin, end, 3 if empty else 0)
            if spans is None:
                return
            yield spans
            begin, empty = spans[1], spans[0] == spans[1]

    def finditer(self, string, pos=0, endpos=None):
        begin = _re.position(string, pos) if pos else 0
        end = _size(string) if endpos is None else _re.position(string, endpos)
        for spans in self._all(string, begin, end):
            yield Match(self, string, spans, pos, len(string) if endpos is None else endpos)

    def findall(self, string, pos=0, endpos=None):
        empty = string[:0]
        if self.groups == 0:
            return [m.group() for m in self.finditer(string, pos, endpos)]
        if self.groups == 1:
            return [m._part(1, empty) for m in self.finditer(string, pos, endpos)]
        return [m.groups(empty) for m in self.finditer(string, pos, endpos)]

    def split(self, string, maxsplit=0):
        parts, last = [], 0
        for spans in self._all(string):
            if maxsplit and len(parts) // (self.groups + 1) >= maxsplit:
                break
            parts.append(_re.part(string, last, spans[0]))
            last = spans[1]
            parts += Match(self, string, spans, 0, 0).groups()
        parts.append(_re.part(string, last, _size(string)))
        return parts

    def subn(self, repl, string, count=0):
        parts, last, n = [], 0, 0
        template = None if callable(repl) else _template(repl, self)
        for spans in self._all(string):
            if count and n >= count:
                break
            n += 1
            m = Match(self, string, spans, 0, len(string))
            parts.append(_re.part(string, last, spans[0]))
            parts.append(repl(m) if template is None else _filled(template, m))
            last = spans[1]
        parts.append(_re.part(string, last, _size(string)))
        return string[:0].join(parts), n

    def sub(self, repl, string, count=0):
        return self.subn(repl, string, count)[0]

    def __repr__(self):
        return "re.compile(%r)" % self.pattern


def _size(text):
    return _re.position(text, len(text)) if isinstance(text, str) else len(text)


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a", "b": "\b", "\\": "\\"}


# _template reads a replacement as texts and numbers of groups.
def _template(repl, pattern):
    if isinstance(repl, (bytes, bytearray)):
        return [p.encode() if isinstance(p, str) else p for p in _template(repl.decode(), pattern)]
    if "\\" not in repl:
        return [repl]
    parts, i = [], 0
    while i < len(repl):
        c = repl[i]
        end = repl.find("\\", i)
        if end != i:
            end = len(repl) if end < 0 else end
            parts.append(repl[i:end])
            i = end
            continue
        c = repl[i + 1 : i + 2]
        i += 2
        if c == "g" and repl[i : i + 1] == "<":
            end = repl.find(">", i)
            name = repl[i + 1 : end]
            i = end + 1
            parts.append(int(name) if name.isdigit() else pattern.groupindex.get(name, -1))
        elif c == "0":
            parts.append("\0")
        elif c.isdigit():
            if repl[i : i + 1].isdigit():
                c += repl[i]
                i += 1
            parts.append(int(c))
        elif c in _ESCAPES and c:
            parts.append(_ESCAPES[c])
        elif c.isalpha() or not c:
            raise error("bad escape \\%s" % c, repl, i - 2)
        else:
            parts.append("\\" + c)
        if not isinstance(parts[-1], str) and not 0 <= parts[-1] <= pattern.groups:
            raise error("invalid group reference", repl, i - 1)
    return parts


def _filled(template, m):
    empty = m.string[:0]
    return empty.join(m._part(p, empty) if isinstance(p, int) else p for p in template)


def compile(pattern, flags=0):
    if isinstance(pattern, Pattern):
        return pattern
    key = (pattern, flags)
    found = _kept.get(key)
    if found is None:
        if len(_kept) >= _MAX_KEPT:
            _kept.clear()
        found = _kept[key] = Pattern(pattern, flags)
    return found


def search(pattern, string, flags=0):
    return compile(pattern, flags).search(string)


def match(pattern, string, flags=0):
    return compile(pattern, flags).match(string)


def fullmatch(pattern, string, flags=0):
    return compile(pattern, flags).fullmatch(string)


def findall(pattern, string, flags=0):
    return compile(pattern, flags).findall(string)


def finditer(pattern, string, flags=0):
    return compile(pattern, flags).finditer(string)


def split(pattern, string, maxsplit=0, flags=0):
    return compile(pattern, flags).split(string, maxsplit)


def sub(pattern, repl, string, count=0, flags=0):
    return compile(pattern, flags).sub(repl, string, count)


def subn(pattern, repl, string, count=0, flags=0):
    return compile(pattern, flags).subn(repl, string, count)


_SPECIAL = "()[]{}?*+-|^$\\.&~# \t\n\r\v\f"


def escape(pattern):
    if isinstance(pattern, (bytes, bytearray)):
        return escape(pattern.decode()).encode()
    return "".join("\\" + c if c in _SPECIAL else c for c in pattern)


def purge():
    _kept.clear()
