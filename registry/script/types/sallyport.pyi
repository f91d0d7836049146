# Types of the library of scripts. The host offers the module sallyport to every script; nothing has to be installed.
from typing import Any, Callable, Iterable, Literal, Mapping, Protocol, Sequence, TypedDict, TypeVar, overload

_F = TypeVar("_F", bound=Callable[..., Any])
_T = TypeVar("_T")
_Completions = Mapping[str, Sequence[str] | Callable[..., Iterable[str]]]

class _Decorator(Protocol):
    def __call__(self, f: _F, /) -> _F: ...

class Content(TypedDict, total=False):
    type: str
    text: str
    data: str
    mimeType: str
    uri: str
    name: str
    resource: dict[str, Any]

class Result(TypedDict, total=False):
    content: list[Content]
    structuredContent: dict[str, Any]
    isError: bool

class Root(TypedDict, total=False):
    uri: str
    name: str

class Call:
    """The request that a tool, a resource, a prompt or a completion answers: a parameter of this type gets it."""

    name: str | None  # of the tool or prompt
    uri: str | None  # of the resource, or of the template that is completed
    argument: str | None  # that is completed
    chosen: dict[str, str]  # the other arguments that are already set
    meta: dict[str, Any]

class ToolError(Exception):
    """An answer to the model: its text is shown as it is, without a line of the script."""

    result: Result | None  # of the tool that call_tool called

class HostError(Exception):
    """The refusal of a request by the host."""

    kind: Literal["denied", "invalid", "unsupported", "unavailable", "timeout", "limit", "conflict"] | None
    hint: str | None
    retry_after_ms: int | None

@overload
def tool(f: _F, /) -> _F: ...
@overload
def tool(f: None = None, *, name: str | None = None, title: str | None = None, description: str | None = None, input: dict[str, Any] | None = None,
         output: dict[str, Any] | None = None, read_only: bool | None = None, destructive: bool | None = None, idempotent: bool | None = None,
         open_world: bool | None = None, task: bool | Literal["only"] | None = None, asks_first: bool | None = None, hidden: bool | None = None,
         icons: list[dict[str, Any]] | None = None, meta: dict[str, Any] | None = None) -> _Decorator:
    """Registers a function as a tool: its type hints are the schema, its docstring the description."""

def resource(uri: str, *, name: str | None = None, title: str | None = None, description: str | None = None, mime_type: str | None = None, size: int | None = None,
             annotations: dict[str, Any] | None = None, icons: list[dict[str, Any]] | None = None, meta: dict[str, Any] | None = None,
             complete: _Completions | None = None) -> _Decorator:
    """Registers a function as a resource; {name} in the address makes it a template, whose values are its arguments."""

@overload
def prompt(f: _F, /) -> _F: ...
@overload
def prompt(f: None = None, *, name: str | None = None, title: str | None = None, description: str | None = None, icons: list[dict[str, Any]] | None = None,
           meta: dict[str, Any] | None = None, complete: _Completions | None = None) -> _Decorator:
    """Registers a function as a prompt. It returns a text, or messages."""

def plugin(*, name: str = ..., version: str = ..., description: str = ..., state: Literal["call", "session", "plugin", "fresh"] = ..., **about: Any) -> None:
    """Describes the plugin itself."""

def want(family: str, grant: Any, why: str) -> None:
    """Asks the operator for a grant: want("net", "GET https://api.example.com/**", "looks words up")."""

def text(v: object) -> Content: ...
def image(data: bytes | bytearray | str, mime_type: str = "image/png") -> Content: ...
def audio(data: bytes | bytearray | str, mime_type: str = "audio/wav") -> Content: ...
def link(uri: str, name: str | None = None, **rest: Any) -> Content: ...
def embed(uri: str, content: Any, mime_type: str | None = None) -> Content: ...

class _Keys:
    """Keys of the plugin; they need a kv grant."""

    def get(self, key: str, default: Any = None) -> Any: ...
    def entry(self, key: str) -> dict[str, Any]: ...
    def set(self, key: str, value: Any, *, if_version: int | None = None, ttl_ms: int | None = None) -> dict[str, Any]: ...
    def delete(self, key: str, *, if_version: int | None = None) -> Any: ...
    def list(self, prefix: str | None = None, *, after: str | None = None, limit: int | None = None) -> dict[str, Any]: ...

class _Secrets:
    def list(self) -> Sequence[dict[str, str]]: ...
    def get(self, name: str) -> str: ...

kv: _Keys
secrets: _Secrets

class Response:
    """The answer of fetch. headers has names in lower case."""

    status: int
    ok: bool
    url: str
    headers: dict[str, str]
    @property
    def content(self) -> bytes: ...
    @property
    def text(self) -> str: ...
    def json(self) -> Any: ...
    def raise_for_status(self) -> None: ...

def fetch(url: str, *, method: str | None = None, headers: Mapping[str, str] | None = None, body: str | bytes | bytearray | None = None, json: Any = None,
          redirect: str | None = None, timeout: float | None = None) -> Response:
    """Makes a request of HTTP, under a net grant. timeout is in seconds."""

@overload
def elicit(message: str, form: type[_T], *, key: str | None = None) -> _T | Literal[False] | None: ...
@overload
def elicit(message: str, form: dict[str, Any] | None = None, *, key: str | None = None) -> dict[str, Any] | Literal[False] | None:
    """Asks the person; False if the person declined, None if the person dismissed it. form is a class with typed fields, of which the answer is one, or a JSON Schema."""

def Field(default: Any = None, *, description: str = ..., title: str = ..., ge: float = ..., gt: float = ..., le: float = ..., lt: float = ..., multiple_of: float = ...,
          min_length: int = ..., max_length: int = ..., pattern: str = ..., **rules: Any) -> Any:
    """A description and rules in Annotated[int, Field(ge=1)]."""

class Sample:
    """The answer of the client's model."""

    raw: dict[str, Any]
    content: Any
    model: str | None
    stop_reason: str | None
    text: str

def sample(prompt: str | Sequence[Mapping[str, Any]], *, max_tokens: int = 1000, system: str | None = None, temperature: float | None = None, key: str | None = None,
           **rest: Any) -> Sample:
    """Asks the client's model."""

def roots() -> list[Root]:
    """Lists the folders of the client."""

def call_tool(name: str, arguments: Mapping[str, Any] | None = None) -> Result:
    """Calls a tool of any plugin by its public name. A tool that failed is a ToolError with its result."""

@overload
def config(key: str) -> str | None: ...
@overload
def config(key: str, default: _T) -> str | _T:
    """A value of the operator's config grants."""

def log(level: Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"], data: Any, logger: str | None = None) -> None: ...
def progress(done: float, total: float | None = None, message: str | None = None) -> None: ...
def tools_changed(visible: list[str] | None = None, *, show: list[str] | None = None, hide: list[str] | None = None) -> None: ...
def resources_changed(visible: list[str] | None = None, *, show: list[str] | None = None, hide: list[str] | None = None) -> None: ...
def prompts_changed(visible: list[str] | None = None, *, show: list[str] | None = None, hide: list[str] | None = None) -> None: ...
def resource_updated(uri: str) -> None: ...
def release() -> None:
    """The client's connection may end, and the client fetches the result later."""

def ask(method: str, params: Any = None, key: str | None = None) -> Any:
    """Makes one request of the host and returns its result."""

def ask_all(requests: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Makes requests in one round: those to the person or to the client are sent together."""
