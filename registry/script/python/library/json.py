import _json


class JSONDecodeError(ValueError):
    def __init__(self, msg, doc, pos):
        self.msg, self.doc, self.pos = msg, doc, pos
        before = doc[:pos]
        self.lineno = before.count("\n") + 1
        self.colno = pos - before.rfind("\n")
        super().__init__("%s: line %d column %d (char %d)" % (msg, self.lineno, self.colno, pos))


def loads(s, *, parse_float=None, parse_int=None, object_hook=None, **kw):
    if not isinstance(s, (str, bytes, bytearray)):
        raise TypeError("the JSON object must be str, bytes or bytearray, not " + type(s).__name__)
    try:
        value = _json.loads(s)
    except ValueError as e:
        if len(e.args) != 2:
            raise
        doc = s if isinstance(s, str) else bytes(s).decode()
        raise JSONDecodeError(e.args[0], doc, e.args[1]) from None
    return _hooked(value, object_hook) if object_hook else value


def _hooked(value, hook):
    if isinstance(value, dict):
        return hook({k: _hooked(v, hook) for k, v in value.items()})
    if isinstance(value, list):
        return [_hooked(v, hook) for v in value]
    return value


def dumps(obj, *, skipkeys=False, ensure_ascii=True, check_circular=True, allow_nan=True, cls=None, indent=None, separators=None, default=None, sort_keys=False):
    if separators is None:
        separators = (", ", ": ") if indent is None else (",", ": ")
    indent = -1 if indent is None else len(indent) if isinstance(indent, str) else indent
    return _json.dumps(obj, separators[0], separators[1], ensure_ascii, sort_keys, allow_nan, indent, default)


def load(fp, **kw):
    return loads(fp.read(), **kw)


def dump(obj, fp, **kw):
    fp.write(dumps(obj, **kw))
