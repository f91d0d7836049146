# The library of scripts: from sallyport import tool.
import _host
import _main
import _schema
import _source
from _main import Call, HostError, ToolError, ask, ask_all, text

__all__ = ("tool", "resource", "prompt", "plugin", "want", "text", "image", "audio", "link", "embed", "kv", "secrets", "fetch", "elicit", "sample",
           "roots", "call_tool", "config", "log", "progress", "tools_changed", "resources_changed", "prompts_changed", "resource_updated", "release",
           "ask", "ask_all", "Field", "Call", "ToolError", "HostError")


def _add(where, kind, key, entry):
    if not isinstance(key, str) or not key:
        raise TypeError("%s: the name is missing" % kind)
    if key in where:
        raise TypeError('%s "%s" is registered twice' % (kind, key))
    where[key] = entry


def _given(**members):
    return {k: v for k, v in members.items() if v is not None}


# _Handler is what a decorator reads of its function.
class _Handler:
    def __init__(self, f, kind):
        path, line, self.name = _host.place(f)
        self.signature = _source.signature(f)
        if self.signature is None:
            raise TypeError("%s: the source of %s is not found" % (kind, self.name))
        self.namespace = _host.globals(f)
        _main.modules.setdefault(path, self.namespace)
        self.where = "%s:%d" % (path, self.signature.line)
        self.doc, self.about = _schema.descriptions(self.signature.doc)
        self.calls = []
        self.parameters = []
        for i, p in enumerate(self.signature.parameters):
            if p.type and p.type[-1][1] == "Call":
                self.calls.append(p.name)
            elif i < self.signature.positional:
                raise TypeError("%s: the parameter %s has no name for the caller: leave out the /" % (self.where, p.name))
            else:
                self.parameters.append(p)

    def read(self, tokens, closed):
        return _schema.Reader(self.signature.path, self.where, closed).read(tokens)


def _input_of(h):
    properties, required, converts, more = {}, [], {}, False
    for p in h.parameters:
        if p.kind == "*":
            raise TypeError("%s: *%s has no names for the caller" % (h.where, p.name))
        if p.kind == "**":
            more = True
            continue
        found = h.read(p.type, True) if p.type else _schema.Type({})
        schema = dict(found.schema)
        if p.name in h.about and "description" not in schema:
            schema["description"] = h.about[p.name]
        if p.default is None:
            required.append(p.name)
        else:
            _schema.add_default(schema, p.default, h.namespace)
        properties[p.name] = schema
        if found.convert is not _schema.same:
            converts[p.name] = found.convert
    schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    if not more:
        schema["additionalProperties"] = False
    return schema, converts


def tool(f=None, *, name=None, title=None, description=None, input=None, output=None, read_only=None, destructive=None, idempotent=None, open_world=None,
         task=None, asks_first=None, hidden=None, icons=None, meta=None):
    """Registers a function as a tool: its type hints are the schema, its docstring the description."""

    def register(f):
        h = _Handler(f, "tool")
        schema, converts = _input_of(h) if input is None else (input, {})
        result = output
        if result is None and h.signature.result:
            try:
                found = h.read(h.signature.result, False).schema
            except TypeError:
                found = {}
            if found.get("type") == "object" and "properties" in found:
                result = found
        hints = _given(readOnlyHint=read_only, destructiveHint=destructive, idempotentHint=idempotent, openWorldHint=open_world)
        definition = _given(name=name or h.name, title=title, description=description or h.doc or None, inputSchema=schema, outputSchema=result,
                            annotations=hints or None, asksFirst=asks_first, hidden=hidden, icons=icons, _meta=meta)
        if task:
            definition["execution"] = {"taskSupport": "required" if task == "only" else "optional"}
        _add(_main.tools, "tool", definition["name"], {"definition": definition, "handler": f, "converts": converts, "calls": h.calls, "names": {}})
        return f

    return register if f is None else register(f)


def resource(uri, *, name=None, title=None, description=None, mime_type=None, size=None, annotations=None, icons=None, meta=None, complete=None):
    """Registers a function as a resource; {name} in the address makes it a template, whose values are its arguments."""
    if not isinstance(uri, str):
        raise TypeError('write @resource("file:///name") before the function')

    def register(f):
        h = _Handler(f, "resource")
        rest = _given(name=name or h.name, title=title, description=description or h.doc or None, mimeType=mime_type, size=size, annotations=annotations, icons=icons, _meta=meta)
        entry = {"handler": f, "calls": h.calls, "complete": _completions(complete or {})}
        if "{" in uri:
            entry["parts"] = _main.parts_of(uri)
            entry["definition"] = _given(uriTemplate=uri, **rest)
            _main.templates.append(entry)
        else:
            entry["definition"] = _given(uri=uri, **rest)
            _add(_main.resources, "resource", uri, entry)
        return f

    return register


def prompt(f=None, *, name=None, title=None, description=None, icons=None, meta=None, complete=None):
    """Registers a function as a prompt. It returns a text, or messages."""

    def register(f):
        h = _Handler(f, "prompt")
        arguments = [_given(name=p.name, description=h.about.get(p.name), required=True if p.default is None else None) for p in h.parameters]
        definition = _given(name=name or h.name, title=title, description=description or h.doc or None, arguments=arguments or None, icons=icons, _meta=meta)
        _add(_main.prompts, "prompt", definition["name"], {"definition": definition, "handler": f, "calls": h.calls, "complete": _completions(complete or {})})
        return f

    return register if f is None else register(f)


# _completions pairs each list of texts, or function, with the function's parameters that get the Call.
def _completions(given):
    pairs = {}
    for name, f in given.items():
        try:
            signature = _source.signature(f)
        except TypeError:  # a list, or no function of Python
            signature = None
        pairs[name] = (f, [p.name for p in signature.parameters if p.type and p.type[-1][1] == "Call"] if signature else [])
    return pairs


def plugin(**about):
    """Describes the plugin itself: name, version, description, state."""
    _main.about.update(about)


def want(family, grant, why):
    """Asks the operator for a grant: want("net", "GET https://api.example.com/**", "looks words up")."""
    _main.wants.append({family: grant, "why": why})


def _data(data):
    return _main.base64_of(data) if isinstance(data, (bytes, bytearray)) else data


def image(data, mime_type="image/png"):
    return {"type": "image", "data": _data(data), "mimeType": mime_type}


def audio(data, mime_type="audio/wav"):
    return {"type": "audio", "data": _data(data), "mimeType": mime_type}


def link(uri, name=None, **rest):
    made = {"type": "resource_link", "uri": uri, "name": name or uri}
    made.update(rest)
    return made


def embed(uri, content, mime_type=None):
    return {"type": "resource", "resource": _main.contents_of(content, uri, mime_type)}


class _Keys:
    """Keys of the plugin; they need a kv grant."""

    def get(self, key, default=None):
        value = ask("kv/get", {"key": key}).get("value")
        return default if value is None else value

    def entry(self, key):
        return ask("kv/get", {"key": key})

    def set(self, key, value, *, if_version=None, ttl_ms=None):
        return ask("kv/set", dict(_given(ifVersion=if_version, ttlMs=ttl_ms), key=key, value=value))

    def delete(self, key, *, if_version=None):
        return ask("kv/delete", _given(key=key, ifVersion=if_version))

    def list(self, prefix=None, *, after=None, limit=None):
        return ask("kv/list", _given(prefix=prefix, after=after, limit=limit))


class _Secrets:
    def list(self):
        return ask("secrets/list")["secrets"]

    def get(self, name):
        return ask("secrets/get", {"name": name})["value"]


kv = _Keys()
secrets = _Secrets()
_STREAM = "dev.sallyport/stream"


class Response:
    """The answer of fetch. headers has names in lower case."""

    def __init__(self, answer, url):
        self.status = answer["status"]
        self.ok = 200 <= self.status < 300
        self.url = answer.get("url", url)
        self.headers = {}
        for k, v in (answer.get("headers") or {}).items():
            self.headers[k.lower()] = ", ".join(v) if isinstance(v, list) else v
        self._body = answer.get("body")
        self._bytes = None

    @property
    def content(self):
        if self._bytes is None:
            self._bytes = _read_all(self._body)
        return self._bytes

    @property
    def text(self):
        return self.content.decode()

    def json(self):
        import json

        return json.loads(self.content)

    def raise_for_status(self):
        if self.status >= 400:
            raise ToolError("%s answered with status %d" % (self.url, self.status))


def _read_all(body):
    if body is None:
        return b""
    if isinstance(body, str):
        return body.encode()
    parts = []
    while True:
        part = _host.read(body[_STREAM], 65536)
        if not part:
            break
        parts.append(part)
    _host.close(body[_STREAM])
    return b"".join(parts)


def _spool(data):
    ref = ask("stream/open", {})
    for n in range(0, len(data), 1 << 20):
        r = _host.write(ref[_STREAM], data[n : n + (1 << 20)])
        if r < 0:
            raise HostError("the host refused %d bytes with error %d" % (len(data), -r), {"kind": "limit"})
    return ref


def fetch(url, *, method=None, headers=None, body=None, json=None, redirect=None, timeout=None):
    """Makes a request of HTTP, under a net grant. timeout is in seconds."""
    headers = dict(headers or {})
    if json is not None:
        import json as codec

        body = codec.dumps(json)
        if not any(k.lower() == "content-type" for k in headers):
            headers["content-type"] = "application/json"
    if isinstance(body, (bytes, bytearray)):
        body = _spool(body)
    params = _given(method=method or ("GET" if body is None else "POST"), url=url, headers=headers, body=body, redirect=redirect)
    if timeout is not None:
        params["timeoutMs"] = max(int(timeout * 1000), 1)
    return Response(ask("http/fetch", params), url)


def elicit(message, form=None, *, key=None):
    """Asks the person; False if the person declined, None if the person dismissed it. form is a class with typed fields, of which the answer is one, or a JSON Schema."""
    found = _schema.Type(form if isinstance(form, dict) else {"type": "object", "properties": {}})
    if form is not None and not isinstance(form, dict):
        found = _form_of(form)
    schema = {k: v for k, v in found.schema.items() if k in ("type", "properties", "required", "$schema")}
    answer = ask("elicitation/create", {"message": message, "requestedSchema": schema}, key)
    if answer.get("action") == "decline":
        return False
    return found.convert(answer.get("content") or {}) if answer.get("action") == "accept" else None


def _form_of(form):
    for path in list(_main.modules):
        c = _source.find_class(path, form.__name__)
        if c is not None:
            return _schema.Reader(path, path).of_class(c)
    raise TypeError("the source of the class %s is not found" % form.__name__)


def Field(default=None, **rules):
    """A description and rules in Annotated[int, Field(ge=1)]. They are read from the source, so that a call has no effect."""
    return default


class Sample:
    """The answer of the client's model."""

    def __init__(self, answer):
        self.raw = answer
        self.content = answer.get("content")
        self.model = answer.get("model")
        self.stop_reason = answer.get("stopReason")
        self.text = _texts(self.content)


def sample(prompt, *, max_tokens=1000, system=None, temperature=None, key=None, **rest):
    """Asks the client's model."""
    messages = _main.messages_of(prompt)["messages"]
    params = _given(messages=messages, maxTokens=max_tokens, systemPrompt=system, temperature=temperature, **rest)
    return Sample(ask("sampling/createMessage", params, key))


def roots():
    return ask("roots/list")["roots"]


def call_tool(name, arguments=None):
    """Calls a tool of any plugin by its public name. A tool that failed is a ToolError with its result."""
    result = ask("tools/call", {"name": name, "arguments": arguments or {}})
    if result.get("isError"):
        e = ToolError(_texts(result.get("content")) or "the tool %s failed" % name)
        e.result = result
        raise e
    return result


def _texts(content):
    blocks = content if isinstance(content, list) else [content]
    return "".join(b["text"] for b in blocks if isinstance(b, dict) and b.get("type") == "text")


def config(key, default=None):
    """A value of the operator's config grants."""
    value = _host.env(key)
    return default if value is None else value


def log(level, data, logger=None):
    _main.tell("notifications/message", {"level": level, "logger": logger, "data": data})


def progress(done, total=None, message=None):
    token = ((_main.call.get("params") or {}).get("_meta") or {}).get("progressToken")
    if token is not None:
        _main.tell("notifications/progress", {"progressToken": token, "progress": done, "total": total, "message": message})


def _changed(kind):
    def changed(visible=None, *, show=None, hide=None):
        _main.tell("notifications/%s/list_changed" % kind, {"visible": visible, "show": show, "hide": hide})

    return changed


tools_changed = _changed("tools")
resources_changed = _changed("resources")
prompts_changed = _changed("prompts")


def resource_updated(uri):
    _main.tell("notifications/resources/updated", {"uri": uri})


def release():
    """The client's connection may end, and the client fetches the result later."""
    _main.tell("client/release", {})
