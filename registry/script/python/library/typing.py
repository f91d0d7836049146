# Names of type hints. MicroPython drops annotations; those that stand in a value, such as Kind = Literal["a"], are read
# from the source too, so that nothing here has to work.
class _Hint:
    def __init__(self, name):
        self.__name__ = name

    def __getitem__(self, given):
        return self

    def __or__(self, other):
        return self

    def __ror__(self, other):
        return self

    def __call__(self, *args, **kw):
        return self

    def __repr__(self):
        return "typing." + self.__name__


Any = _Hint("Any")
Optional = _Hint("Optional")
Union = _Hint("Union")
Literal = _Hint("Literal")
Annotated = _Hint("Annotated")
List = _Hint("List")
Dict = _Hint("Dict")
Tuple = _Hint("Tuple")
Set = _Hint("Set")
FrozenSet = _Hint("FrozenSet")
Sequence = _Hint("Sequence")
Iterable = _Hint("Iterable")
Iterator = _Hint("Iterator")
Mapping = _Hint("Mapping")
MutableMapping = _Hint("MutableMapping")
Callable = _Hint("Callable")
Awaitable = _Hint("Awaitable")
Final = _Hint("Final")
ClassVar = _Hint("ClassVar")
Required = _Hint("Required")
NotRequired = _Hint("NotRequired")
Type = _Hint("Type")
Generator = _Hint("Generator")
Self = _Hint("Self")
TYPE_CHECKING = False


class TypedDict(dict):
    pass


class NamedTuple:
    def __init__(self, *args, **kw):
        import dataclasses

        dataclasses._fill(self, type(self), args, kw)


class Protocol:
    pass


class Generic:
    pass


def TypeVar(name, *args, **kw):
    return _Hint(name)


def NewType(name, base):
    return base


def cast(kind, value):
    return value


def overload(f):
    return f


def final(f):
    return f


def get_type_hints(f):
    return {}
