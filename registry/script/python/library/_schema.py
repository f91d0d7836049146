# JSON Schemas of type hints, and the values of Python that JSON values become.
import _source

PLAIN = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "None": {"type": "null"},
    "dict": {"type": "object"},
    "list": {"type": "array"},
    "tuple": {"type": "array"},
    "set": {"type": "array", "uniqueItems": True},
    "frozenset": {"type": "array", "uniqueItems": True},
    "object": {},
    "Any": {},
    "datetime": {"type": "string", "format": "date-time"},
    "date": {"type": "string", "format": "date"},
    "time": {"type": "string", "format": "time"},
}
LISTS = ("list", "List", "Sequence", "Iterable", "Collection", "MutableSequence")
SETS = ("set", "Set", "frozenset", "FrozenSet", "AbstractSet")
DICTS = ("dict", "Dict", "Mapping", "MutableMapping", "defaultdict", "OrderedDict")
KINDS = {str: "string", int: "integer", bool: "boolean"}
BARE = {"List": "list", "Dict": "dict", "Tuple": "tuple", "Set": "set", "FrozenSet": "set", "Sequence": "list", "Iterable": "list", "Mapping": "dict", "MutableMapping": "dict"}


def same(v):
    return v


# Type is a schema with a function that makes the value of Python, for one annotation.
class Type:
    def __init__(self, schema, convert=same):
        self.schema = schema
        self.convert = convert


# Reader reads the annotations of one file. Classes are closed schemas where values of the caller are read: a member that
# has no field would be lost.
class Reader:
    def __init__(self, path, where, closed=False):
        self.path = path
        self.where = where  # the place for errors
        self.closed = closed
        self.open = []  # the names that are being read

    def inner(self):
        r = Reader(self.path, self.where, self.closed)
        r.open = self.open
        return r

    def fail(self, message):
        raise TypeError("%s: %s" % (self.where, message))

    def read(self, tokens):
        self.t = [t for t in tokens]
        self.i = 0
        found = self.union()
        if self.i < len(self.t):
            self.fail("%s is no type that can be read" % text_of(tokens))
        return found

    def peek(self):
        return self.t[self.i][1] if self.i < len(self.t) else ""

    def take(self, text=None):
        if self.i >= len(self.t) or (text is not None and self.t[self.i][1] != text):
            self.fail("%s is no type that can be read" % text_of(self.t))
        self.i += 1
        return self.t[self.i - 1]

    def union(self):
        all = [self.one()]
        while self.peek() == "|":
            self.take()
            all.append(self.one())
        return either(all)

    def one(self):
        kind, text, *_ = self.take()
        if kind == "text":
            value = _source._string(text)
            return self.inner().read(_source.tokens(value, 0, lambda out, depth: False))
        if kind != "name":
            self.fail("%s is no type that can be read" % text_of(self.t))
        while self.peek() == ".":
            self.take()
            text = self.take()[1]
        if self.peek() == "[":
            return self.subscripted(text)
        return self.named(text)

    def named(self, name):
        if name in BARE:
            name = BARE[name]
        if name in PLAIN:
            return Type(dict(PLAIN[name]), CONVERT.get(name, same))
        if name in self.open:
            return Type({"type": "object"})
        self.open.append(name)
        try:
            c = _source.find_class(self.path, name)
            if c is not None:
                return self.of_class(c)
            alias = _source.find_alias(self.path, name)
            if alias:
                return self.inner().read(alias)
        finally:
            self.open.pop()
        self.fail("the type %s is unknown here: it is looked for in %s" % (name, self.path))

    def subscripted(self, name):
        self.take("[")
        if name == "Literal":
            return self.literal()
        if name == "Annotated":
            return self.annotated()
        args = []
        while self.peek() != "]":
            if self.peek() == ".":  # ...
                self.take(), self.take(), self.take()
                args.append(None)
            else:
                args.append(self.union())
            if self.peek() == ",":
                self.take()
        self.take("]")
        if name == "Optional":
            return either(args + [Type({"type": "null"})])
        if name == "Union":
            return either(args)
        if name in ("Required", "NotRequired", "Final", "ClassVar", "ReadOnly"):
            return args[0]
        if name in LISTS:
            return Type({"type": "array", "items": args[0].schema}, each(args[0], list))
        if name in SETS:
            return Type({"type": "array", "items": args[0].schema, "uniqueItems": True}, each(args[0], set))
        if name in DICTS:
            schema = {"type": "object", "additionalProperties": args[1].schema}
            return Type(schema, lambda v: {k: args[1].convert(x) for k, x in v.items()} if isinstance(v, dict) else v)
        if name in ("tuple", "Tuple"):
            if len(args) == 2 and args[1] is None:
                return Type({"type": "array", "items": args[0].schema}, each(args[0], tuple))
            schema = {"type": "array", "prefixItems": [a.schema for a in args], "minItems": len(args), "maxItems": len(args)}
            return Type(schema, lambda v: tuple(a.convert(x) for a, x in zip(args, v)))
        self.fail("the type %s[…] has no JSON Schema here" % name)

    def literal(self):
        values = []
        while self.peek() != "]":
            kind, text, *_ = self.take()
            if text == "-":
                text += self.take()[1]
            values.append(None if text == "None" else eval(text))
            if self.peek() == ",":
                self.take()
        self.take("]")
        schema = {"enum": values}
        kinds = set(KINDS.get(type(v)) for v in values)
        if len(kinds) == 1 and None not in kinds:
            schema["type"] = kinds.pop()
        return Type(schema)

    def annotated(self):
        found = self.union()
        schema = dict(found.schema)
        while self.peek() == ",":
            self.take()
            kind, text, *_ = self.take()
            if kind == "text":
                schema["description"] = _source._string(text)
            elif kind == "name" and text == "Field" and self.peek() == "(":
                self.field(schema)
        self.take("]")
        return Type(schema, found.convert)

    # field reads Field(description="…", ge=1, …), as pydantic has it.
    def field(self, schema):
        names = {"description": "description", "title": "title", "ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum", "multiple_of": "multipleOf", "pattern": "pattern"}
        self.take("(")
        while self.peek() != ")":
            key = self.take()[1]
            self.take("=")
            text = self.take()[1]
            if text == "-":
                text += self.take()[1]
            value = eval(text)
            if key in ("min_length", "max_length"):
                key = key[:3] + ("Items" if schema.get("type") == "array" else "Length")
                schema[key] = value
            elif key in names:
                schema[names[key]] = value
            if self.peek() == ",":
                self.take()
        self.take(")")

    # of_class reads a TypedDict, a dataclass or a NamedTuple.
    def of_class(self, c):
        fields = []
        for base in c.bases:
            inherited = _source.find_class(self.path, base) if base not in ("TypedDict", "NamedTuple", "object", "total", "False", "True") else None
            if inherited is not None:
                fields += inherited.fields
        fields += c.fields
        if not fields:
            self.fail("the class %s has no fields with types" % c.name)
        properties, required, converts = {}, [], {}
        for f in fields:
            found = self.inner().read(f.type)
            schema = dict(found.schema)
            if f.default is not None:
                add_default(schema, f.default, {})
            properties[f.name] = schema
            converts[f.name] = found.convert
            if f.default is None and c.total and f.type[0][1] != "NotRequired":
                required.append(f.name)
        schema = {"type": "object", "properties": properties}
        if c.doc:
            schema["description"] = c.doc.split("\n")[0]
        if required:
            schema["required"] = required
        if self.closed:
            schema["additionalProperties"] = False
        plain = "TypedDict" in c.bases or not (c.dataclass or "NamedTuple" in c.bases)

        def convert(v):
            if not isinstance(v, dict):
                return v
            v = {k: converts[k](x) if k in converts else x for k, x in v.items()}
            made = None if plain else self.namespace_of(c)
            return v if made is None else made(**{k: x for k, x in v.items() if k in properties})

        return Type(schema, convert)

    def namespace_of(self, c):
        import _main

        return _main.module_of(c.path).get(c.name)


def each(inner, make):
    if inner.convert is same and make is list:
        return same
    return lambda v: make(inner.convert(x) for x in v) if isinstance(v, list) else v


def to_float(v):
    return float(v) if isinstance(v, int) and not isinstance(v, bool) else v


# to_int takes the whole numbers that JSON may write with a point or an exponent: 2.0, 1e3.
def to_int(v):
    return int(v) if isinstance(v, float) and v % 1 == 0 else v


def to_time(name):
    def convert(v):
        import datetime

        return getattr(datetime, name).fromisoformat(v) if isinstance(v, str) else v

    return convert


CONVERT = {"int": to_int, "float": to_float, "set": set, "frozenset": set, "tuple": tuple, "datetime": to_time("datetime"), "date": to_time("date"), "time": to_time("time")}


# either returns the type of a union. Values of one of its types only are converted.
def either(all):
    if len(all) == 1:
        return all[0]
    plain = [t for t in all if list(t.schema) == ["type"] and isinstance(t.schema["type"], str)]
    converts = [t for t in all if t.schema.get("type") != "null"]
    convert = converts[0].convert if len(converts) == 1 else same

    def maybe(v):
        return None if v is None else convert(v)

    if len(plain) == len(all):
        names = []
        for t in all:
            if t.schema["type"] not in names:
                names.append(t.schema["type"])
        return Type({"type": names if len(names) > 1 else names[0]}, maybe)
    return Type({"anyOf": [t.schema for t in all]}, maybe)


def text_of(tokens):
    return "".join(t[1] for t in tokens)


# add_default adds the default of a parameter if it is a value of JSON.
def add_default(schema, text, namespace):
    try:
        value = eval(text, namespace)
    except Exception:
        return
    if value is None or isinstance(value, (str, int, float, bool)) or value == [] or value == {}:
        schema["default"] = value


# descriptions returns the text of a docstring without its list of arguments, and the texts of those. It reads the lists
# of Google's style, of Sphinx and of NumPy.
def descriptions(doc):
    text, found, inside, last, base = [], {}, False, None, 0
    lines = doc.split("\n")
    for i, line in enumerate(lines):
        stripped = line.strip()
        if stripped.startswith(":param "):
            names, _, rest = stripped[7:].partition(":")
            last = names.split()[-1] if names.split() else None
            found[last] = rest.strip()
            continue
        if stripped.startswith((":return", ":raises", ":rtype", ":type")):
            last = None
            continue
        if stripped in ("Args:", "Arguments:", "Parameters:", "Params:"):
            inside, last, base = True, None, len(line) - len(line.lstrip())
            continue
        if inside and stripped:
            here = len(line) - len(line.lstrip())
            if here > base:
                name, colon, rest = stripped.partition(":")
                name = name.split("(")[0].strip()
                if colon and name.replace("_", "a").isalpha() or colon and name and not " " in name and last is None:
                    last = name
                    found[last] = rest.strip()
                elif last is not None:
                    found[last] += " " + stripped
                continue
            inside = False
        if stripped in ("Returns:", "Raises:", "Yields:", "Example:", "Examples:"):
            break
        if not inside and last is None:
            text.append(line)
        elif last is not None and stripped and not inside:
            found[last] += " " + stripped
    return "\n".join(text).strip(), found
