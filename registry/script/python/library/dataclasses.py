# Data classes, whose fields come from the source of the class.
import _main
import _source


class _Missing:
    pass


MISSING = _Missing()


class _Field:
    def __init__(self, default, default_factory):
        self.default, self.default_factory = default, default_factory


def field(*, default=MISSING, default_factory=MISSING, **kw):
    return _Field(default, default_factory)


def _fields_of(cls):
    names, seen = {}, []
    for base in reversed(_bases(cls)):
        for path in list(_main.modules):
            c = _source.find_class(path, base.__name__)
            if c is not None:
                for f in c.fields:
                    names[f.name] = f.default
                break
    return names


def _bases(cls):
    all = [cls]
    for base in cls.__bases__:
        if base is not object:
            all += _bases(base)
    return all


def _fill(self, cls, args, kw):
    fields = cls.__dataclass_fields__ if hasattr(cls, "__dataclass_fields__") else _fields_of(cls)
    names = list(fields)
    if len(args) > len(names):
        raise TypeError("%s() takes %d arguments, %d were given" % (cls.__name__, len(names), len(args)))
    for name in kw:
        if name not in fields:
            raise TypeError("%s() has no field %s" % (cls.__name__, name))
    for i, name in enumerate(names):
        if i < len(args):
            value = args[i]
        elif name in kw:
            value = kw[name]
        elif fields[name] is None:
            raise TypeError("%s() needs a value for %s" % (cls.__name__, name))
        else:
            value = getattr(cls, name)
            if isinstance(value, _Field):
                value = value.default_factory() if value.default is MISSING else value.default
        setattr(self, name, value)


def dataclass(cls=None, **options):
    def make(cls):
        own = cls.__dict__
        fields = _fields_of(cls)
        cls.__dataclass_fields__ = fields

        def init(self, *args, **kw):
            _fill(self, cls, args, kw)
            if hasattr(self, "__post_init__"):
                self.__post_init__()

        def show(self):
            return "%s(%s)" % (cls.__name__, ", ".join("%s=%r" % (n, getattr(self, n)) for n in fields))

        def equal(self, other):
            return type(other) is cls and all(getattr(self, n) == getattr(other, n) for n in fields)

        for name, f in (("__init__", init), ("__repr__", show), ("__eq__", equal)):
            if name not in own:
                setattr(cls, name, f)
        if options.get("frozen"):
            cls.__hash__ = lambda self: hash(tuple(getattr(self, n) for n in fields))
        return cls

    return make if cls is None else make(cls)


def asdict(v):
    if hasattr(v, "__dataclass_fields__"):
        return {n: asdict(getattr(v, n)) for n in v.__dataclass_fields__}
    if isinstance(v, list):
        return [asdict(x) for x in v]
    if isinstance(v, tuple):
        return tuple(asdict(x) for x in v)
    if isinstance(v, dict):
        return {k: asdict(x) for k, x in v.items()}
    return v


def astuple(v):
    return tuple(getattr(v, n) for n in v.__dataclass_fields__)


def fields(v):
    return tuple(v.__dataclass_fields__)


def is_dataclass(v):
    return hasattr(v, "__dataclass_fields__")


def replace(v, **changes):
    made = {n: getattr(v, n) for n in v.__dataclass_fields__}
    made.update(changes)
    return type(v)(**made)
