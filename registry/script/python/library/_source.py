# Reads signatures, docstrings and fields of classes from the source: MicroPython drops annotations when it compiles.
import _host

OPEN, CLOSE = "([{", ")]}"


class Unreadable(Exception):
    pass


# tokens splits source text from a place on, until stop(tokens) or the end: (kind, text, start, end), where kind is name,
# text, number or op. Comments and line ends inside of brackets are left out; others are an op "\n".
def tokens(src, at, stop):
    out, depth, size = [], 0, len(src)
    while at < size:
        c = src[at]
        begin = at
        if c in " \t\r\f":
            at += 1
            continue
        if c == "\\" and src[at + 1 : at + 2] == "\n":
            at += 2
            continue
        if c == "#":
            at = _line_end(src, at)
            continue
        if c == "\n":
            at += 1
            if depth:
                continue
            kind = "op"
        elif c.isalpha() or c == "_" or ord(c) >= 128:
            while at < size and (src[at].isalpha() or src[at].isdigit() or src[at] == "_" or ord(src[at]) >= 128):
                at += 1
            kind = "name"
            if at < size and src[at] in "\"'" and at - begin <= 2:
                at = _string_end(src, at)
                kind = "text"
        elif c in "\"'":
            at = _string_end(src, at)
            kind = "text"
        elif c.isdigit():
            while at < size and (src[at].isalpha() or src[at].isdigit() or src[at] in "._"):
                at += 1
            kind = "number"
        else:
            at += 1
            if c in OPEN:
                depth += 1
            elif c in CLOSE:
                depth -= 1
            elif src[begin : at + 1] in ("->", "**", "=="):
                at += 1
            kind = "op"
        out.append((kind, src[begin:at], begin, at))
        if stop(out, depth):
            break
    return out


def _line_end(src, at):
    end = src.find("\n", at)
    return len(src) if end < 0 else end


def _string_end(src, at):
    quote = src[at]
    if src[at : at + 3] == quote * 3:
        quote *= 3
    at += len(quote)
    while at < len(src):
        if src[at] == "\\":
            at += 2
        elif src.startswith(quote, at):
            return at + len(quote)
        else:
            at += 1
    raise Unreadable("a text without end")


def line_of(src, at):
    return src.count("\n", 0, at) + 1


class Parameter:
    def __init__(self, name, kind):
        self.name = name
        self.kind = kind  # "", "*" or "**"
        self.type = None  # tokens
        self.default = None  # source text
        self.line = 0


class Signature:
    def __init__(self, path):
        self.path = path
        self.parameters = []
        self.result = None  # tokens
        self.doc = ""
        self.line = 0
        self.positional = 0  # the number of parameters before a "/"


# signature returns that of a function, from the last "def" of its name before its first line of code.
def signature(f):
    path, line, name = _host.place(f)
    src = _host.source(path)
    if src is None:
        return None
    offset, left = 0, line
    while left > 0 and offset < len(src):
        offset = _line_end(src, offset) + 1
        left -= 1
    at = _definition(src, "def", name, min(offset, len(src)))
    if at < 0:
        return None
    s = Signature(path)
    s.line = line_of(src, at)
    found = tokens(src, at, lambda out, depth: depth == 0 and out[-1][1] == ":")
    _read_parameters(src, s, found)
    rest = tokens(src, found[-1][3], lambda out, depth: out[-1][1] != "\n")
    if rest and rest[-1][0] == "text":
        s.doc = cleandoc(_string(rest[-1][1]))
    return s


# _definition finds "def NAME" or "class NAME" that begins a line before a place; the last one, or -1.
def _definition(src, word, name, before):
    at = before
    while True:
        at = src.rfind(word + " " + name, 0, at)
        if at < 0:
            return -1
        start = src.rfind("\n", 0, at) + 1
        head = src[start:at].strip()
        after = src[at + len(word) + 1 + len(name) : at + len(word) + 2 + len(name)]
        if (head == "" or head == "async") and after in ("(", " ", ":"):
            return at


def _string(text):
    try:
        return eval(text)
    except Exception:
        return ""


def _read_parameters(src, s, found):
    parts, current, depth = [], [], 0
    end = 0
    for i, t in enumerate(found[2:]):
        if t[1] in OPEN and t[0] == "op":
            depth += 1
            if depth == 1:
                continue
        elif t[1] in CLOSE and t[0] == "op":
            depth -= 1
            if depth == 0:
                end = i + 3
                break
        if depth == 1 and t[1] == ",":
            parts.append(current)
            current = []
        else:
            current.append(t)
    if current:
        parts.append(current)
    for part in parts:
        if part[0][1] == "/":
            s.positional = len(s.parameters)
        elif not (part[0][1] == "*" and len(part) == 1):
            s.parameters.append(_parameter(src, part))
    rest = found[end:-1]
    if rest and rest[0][1] == "->":
        s.result = rest[1:]


def _parameter(src, part):
    kind = ""
    if part[0][1] in ("*", "**"):
        kind = part[0][1]
        part = part[1:]
    p = Parameter(part[0][1], kind)
    p.line = line_of(src, part[0][2])
    rest, depth, equal = part[1:], 0, -1
    for i, t in enumerate(rest):
        if t[0] == "op" and t[1] in OPEN:
            depth += 1
        elif t[0] == "op" and t[1] in CLOSE:
            depth -= 1
        elif t[1] == "=" and depth == 0:
            equal = i
            break
    if equal >= 0:
        p.default = src[rest[equal + 1][2] : rest[-1][3]]
        rest = rest[:equal]
    if rest and rest[0][1] == ":":
        p.type = rest[1:]
    return p


# Field is a member of a class: its type in tokens, and the text of its default or None.
class Field:
    def __init__(self, name, type, default):
        self.name = name
        self.type = type
        self.default = default


class Class:
    def __init__(self, name, path):
        self.name = name
        self.path = path
        self.bases = []
        self.fields = []
        self.total = True
        self.doc = ""
        self.dataclass = False


# find_class reads the fields of a class of a file; None if there is none of this name.
def find_class(path, name):
    src = _host.source(path)
    at = -1 if src is None else _definition(src, "class", name, len(src))
    if at < 0:
        return None
    c = Class(name, path)
    head = tokens(src, at, lambda out, depth: depth == 0 and out[-1][1] == ":")
    names = [t[1] for t in head]
    for i, t in enumerate(names[2:-1]):
        if t.isalpha() or "_" in t:
            c.bases.append(t)
    c.total = not ("total" in names and "False" in names)
    before = src.rfind("\n\n", 0, at)
    c.dataclass = "@dataclass" in src[max(before, 0) : at]
    indent = None
    offset = head[-1][3]
    while offset < len(src):
        end = _line_end(src, offset)
        line = src[offset:end]
        text = line.strip()
        if text and not text.startswith("#") and offset > head[-1][3]:
            here = len(line) - len(line.lstrip())
            if indent is None:
                indent = here
                if here <= at - src.rfind("\n", 0, at) - 1:
                    break
                if text[0] in "\"'":
                    end = _string_end(src, offset + here)
                    c.doc = cleandoc(_string(src[offset + here : end]))
                    end = _line_end(src, end)
                    offset = end + 1
                    continue
            if here < indent:
                break
            if here == indent:
                end = _field(src, c, offset + here, end)
        elif text and offset == head[-1][3] and text != "pass" and text != "...":
            _field(src, c, offset, end)
        offset = end + 1
    return c


def _field(src, c, at, end):
    found = tokens(src, at, lambda out, depth: depth == 0 and out[-1][1] == "\n")
    if len(found) >= 3 and found[0][0] == "name" and found[1][1] == ":" and found[0][1] not in ("def", "class", "async", "if", "for", "while", "with", "try", "else"):
        if found[-1][1] == "\n":
            found = found[:-1]
        p = _parameter(src, found)
        c.fields.append(Field(p.name, p.type, p.default))
    return _line_end(src, found[-1][2]) if found else end


# find_alias returns the tokens of "NAME = …" or "type NAME = …" at the start of a line; None if there is none.
def find_alias(path, name):
    src = _host.source(path)
    if src is None:
        return None
    for start in ("\n" + name + " = ", "\n" + name + "="):
        at = ("\n" + src).find(start)
        if at >= 0:
            return [t for t in tokens(src, at + len(start) - 1, lambda out, depth: depth == 0 and out[-1][1] == "\n") if t[1] != "\n"]
    return None


# cleandoc removes the indentation of a docstring.
def cleandoc(text):
    lines = text.replace("\t", "    ").split("\n")
    margin = None
    for line in lines[1:]:
        if line.strip():
            here = len(line) - len(line.lstrip())
            margin = here if margin is None else min(margin, here)
    out = [lines[0].strip()] + [line[margin or 0 :].rstrip() for line in lines[1:]]
    return "\n".join(out).strip("\n")
