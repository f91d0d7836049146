# The way of a request, and what a script registered.
import _host
import _json
import _schema
import _source
import sys

about = {}
wants = []
tools = {}
resources = {}
templates = []
prompts = {}
modules = {}  # the globals of modules by their path
entry = ""
call = {}  # the request that runs


# ToolError is an answer of the script's author to the model: its text has no place.
class ToolError(Exception):
    result = None  # of the tool that call_tool called


# HostError is the refusal of a request by the host.
class HostError(Exception):
    def __init__(self, message, data=None):
        super().__init__(message)
        data = data or {}
        self.kind = data.get("kind")
        self.hint = data.get("hint")
        self.retry_after_ms = data.get("retryAfterMs")
        self.required_capabilities = data.get("requiredCapabilities")


# Refusal ends a request with an error of the protocol.
class Refusal(Exception):
    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


class Call:
    """The request that a tool, a resource, a prompt or a completion answers: a parameter of this type gets it."""

    def __init__(self, params):
        of = params.get("ref") or params
        self.name = of.get("name")
        self.uri = of.get("uri")
        self.argument = (params.get("argument") or {}).get("name")
        self.chosen = (params.get("context") or {}).get("arguments") or {}
        self.meta = params.get("_meta") or {}


# unusual values have no JSON of their own.
def plain(v):
    if isinstance(v, (bytes, bytearray)):
        return base64_of(v)
    if isinstance(v, (set, frozenset)):
        return list(v)
    if hasattr(v, "__dataclass_fields__"):
        return {name: getattr(v, name) for name in v.__dataclass_fields__}
    if hasattr(v, "isoformat"):
        return v.isoformat()
    raise TypeError("a value of type %s has no JSON" % type(v).__name__)


def json_of(v):
    return _json.dumps(v, ",", ":", False, False, False, -1, plain)


def base64_of(data):
    import binascii

    return binascii.b2a_base64(bytes(data), newline=False).decode()


# ask makes one request of the host and returns its result.
def ask(method, params=None, key=None):
    return ask_all([(method, params, key)])[0]


MAX_ROUND = 64


# ask_all makes requests in one round: those to the person or to the client are sent together.
def ask_all(requests):
    if _host.importing():
        raise RuntimeError("%s: the host can only be asked during a call; do this inside of a tool, not while the script is imported" % requests[0][0])
    results = []
    for begin in range(0, len(requests), MAX_ROUND):
        round = [{k: v for k, v in zip(("method", "params", "key"), r) if v is not None} for r in requests[begin : begin + MAX_ROUND]]
        answers = _json.loads(_host.ask(json_of(round[0] if len(round) == 1 else round)))
        if not isinstance(answers, list):
            answers = [answers] * len(round)
        results += answers
    for a in results:
        if "error" in a:
            raise HostError(a["error"].get("message", "the host refused the request"), a["error"].get("data"))
    return [a.get("result") for a in results]


# tell makes a notification, whose refusal is ignored.
def tell(method, params):
    if not _host.importing():
        _host.ask(json_of({"method": method, "params": {k: v for k, v in params.items() if v is not None}}))


# Places of errors.


def own(path):
    return not path.startswith("sallyport:")


# place returns "hello.py:3" for the innermost line of the script, or "".
def place(e):
    for path, line, _ in reversed(_host.trace(e)):
        if own(path):
            return "%s:%d" % (path, line)
    return ""


def text_of(e):
    try:
        text = str(e)
    except Exception:
        text = "an error that has no text was raised"
    if isinstance(e, (ToolError, HostError)) or type(e) is Exception:
        return text or "an error without a message"
    name = type(e).__name__
    if isinstance(e, KeyError) and len(e.args) == 1:
        text = repr(e.args[0])
    return "%s: %s" % (name, text) if text else name


def located(e):
    text = text_of(e)
    if isinstance(e, (ToolError, HostError)):
        return text
    if isinstance(e, SyntaxError):
        return syntax(e, text)
    at = place(e)
    return ("%s (%s)" % (text, at) if at else text) + missing_import(e)


# missing_import returns the import that a name of the library lacks, or "".
def missing_import(e):
    if not isinstance(e, NameError):
        return ""
    import sallyport

    name = (str(e).split("'") + ["", ""])[1]
    return ": from sallyport import " + name if name in sallyport.__all__ else ""


# syntax returns "hello.py:3:7: invalid syntax". Errors that are found after parsing have the column of the line's text.
def syntax(e, text):
    frames = _host.trace(e)
    if not frames:
        return text
    path, line, block = frames[-1]
    column = _host.column()
    if block is not None or not column:
        source = (_host.source(path) or "").split("\n")
        given = source[line - 1] if 0 < line <= len(source) else ""
        column = len(given) - len(given.lstrip()) + 1
    return "%s:%d:%d: %s" % (path, max(line, 1), column, text)


def log_stack(e):
    lines = [text_of(e)]
    for path, line, name in reversed(_host.trace(e)):
        if own(path):
            lines.append("    at %s (%s:%d)" % (name or "?", path, line))
    _host.log("\n".join(lines[:21]) + "\n")


# Loading.


def module_of(path):
    return modules.get(path, {})


# load imports the script, as a module of the name of its file.
def load(path):
    global entry
    entry = path
    stem = path.rsplit(".", 1)[0]
    m = _host.module(stem)
    m.__file__ = path
    modules[path] = m.__dict__
    _host.run(path, m.__dict__)


# describe returns the response of a script that failed while it was imported.
def describe(e):
    message = located(e)
    if isinstance(e, ImportError) and "no module named" in message:
        message += ": modules are looked for below the folder of the script and in the library; packages of PyPI are not offered"
    if isinstance(e, SystemExit):
        message = "the script ended itself while it was imported: %s" % message
    return json_of({"error": {"code": -32603, "message": message}})


# Requests.


def describe_plugin(params):
    if not (tools or resources or templates or prompts):
        raise Refusal(-32603, "the script registers nothing: write from sallyport import tool, and @tool before a function; a file that others import belongs into a folder below")
    all = dict(about)
    all["tools"] = [t["definition"] for t in tools.values()]
    all["resources"] = [r["definition"] for r in resources.values()]
    all["resourceTemplates"] = [t["definition"] for t in templates]
    all["prompts"] = [p["definition"] for p in prompts.values()]
    all["wants"] = wants
    return all


# run calls a handler, and drives it if it is a coroutine.
def run(f, args):
    v = f(**args)
    if hasattr(v, "send") and hasattr(v, "throw") and not hasattr(v, "__len__"):
        try:
            while True:
                v.send(None)
        except StopIteration as e:
            v = e.value
    return v


def with_call(entry, args, params):
    for name in entry["calls"]:
        args[name] = Call(params)
    return args


def call_tool(params):
    t = tools.get(params.get("name"))
    if t is None:
        raise Refusal(-32602, "unknown tool: %s" % params.get("name"))
    try:
        args = {t["names"].get(k, k): v for k, v in (params.get("arguments") or {}).items()}
        for name, convert in t["converts"].items():
            if name in args:
                args[name] = convert(args[name])
        return tool_result(run(t["handler"], with_call(t, args, params)))
    except BaseException as e:
        if isinstance(e, HostError) and e.required_capabilities:
            raise Refusal(-32603, str(e), {"kind": e.kind, "requiredCapabilities": e.required_capabilities})
        if not isinstance(e, (ToolError, HostError)):
            log_stack(e)
        return {"isError": True, "content": [{"type": "text", "text": located(e)}]}


CONTENT = ("text", "image", "audio", "resource_link", "resource")


def is_content(v):
    return isinstance(v, dict) and v.get("type") in CONTENT


def text(v):
    return {"type": "text", "text": str(v)}


def tool_result(v):
    if v is None:
        return {"content": []}
    if isinstance(v, str):
        return {"content": [text(v)]}
    if is_content(v):
        return {"content": [v]}
    if isinstance(v, (list, tuple)) and len(v) and all(is_content(x) for x in v):
        return {"content": list(v)}
    if isinstance(v, dict) and isinstance(v.get("content"), list):
        json_of(v)
        return v
    json = json_of(v)
    if json.startswith("{"):
        return {"content": [text(json)], "structuredContent": v}
    return {"content": [text(json if not json.startswith('"') else _json.loads(json))]}


def contents_of(v, uri, mime_type):
    if isinstance(v, str):
        made = {"uri": uri, "text": v}
    elif isinstance(v, (bytes, bytearray)):
        made = {"uri": uri, "blob": base64_of(v)}
    elif isinstance(v, dict) and (isinstance(v.get("text"), str) or "blob" in v):
        made = {"uri": uri}
        made.update(v)
    else:
        made = {"uri": uri, "text": json_of(v)}
        mime_type = mime_type or "application/json"
    if mime_type and "mimeType" not in made:
        made["mimeType"] = mime_type
    return made


def read_resource(params):
    uri = params.get("uri")
    r, args = resources.get(uri), {}
    if r is None:
        for t in templates:
            args = match(t["parts"], uri)
            if args is not None:
                r = t
                break
    if r is None:
        raise Refusal(-32602, "resource not found", {"uri": uri})
    v = run(r["handler"], with_call(r, args or {}, params))
    if v is None:
        raise Refusal(-32602, "resource not found", {"uri": uri})
    if isinstance(v, dict) and isinstance(v.get("contents"), list):
        return v
    return {"contents": [contents_of(x, uri, r["definition"].get("mimeType")) for x in (v if isinstance(v, list) else [v])]}


# parts_of reads a template as texts and names; {name} is one segment, {+name} or {name*} all that follows.
def parts_of(template):
    parts, rest = [], template
    while rest:
        before, brace, after = rest.partition("{")
        if before:
            parts.append((None, before))
        if not brace:
            break
        name, brace, rest = after.partition("}")
        wide = name.startswith("+") or name.endswith("*")
        name = name.strip("+*")
        if not brace or not name.replace("_", "a").replace(".", "a").isalpha() and not name.replace("_", "").isdigit() and not name.replace("_", "a")[0].isalpha():
            raise ValueError("resource %s: write {name} or {+name}" % template)
        parts.append((name, wide))
    return parts


# match returns the values of a template in an address, or None.
def match(parts, uri):
    def go(i, at):
        if i == len(parts):
            return {} if at == len(uri) else None
        name, value = parts[i]
        if name is None:
            return go(i + 1, at + len(value)) if uri.startswith(value, at) else None
        limit = at
        while limit < len(uri) and (value or uri[limit] not in "/?#"):
            limit += 1
        while limit > at:
            found = go(i + 1, limit)
            if found is not None:
                found[name] = unquote(uri[at:limit])
                return found
            limit -= 1
        return None

    return go(0, 0)


def unquote(s):
    if "%" not in s:
        return s
    out, data, i = bytearray(), s.encode(), 0
    while i < len(data):
        if data[i] == 37 and i + 2 < len(data) + 0:
            try:
                out.append(int(data[i + 1 : i + 3].decode(), 16))
                i += 3
                continue
            except ValueError:
                pass
        out.append(data[i])
        i += 1
    try:
        return bytes(out).decode()
    except ValueError:
        return s


def get_prompt(params):
    p = prompts.get(params.get("name"))
    if p is None:
        raise Refusal(-32602, "unknown prompt: %s" % params.get("name"))
    args = dict(params.get("arguments") or {})
    for a in p["definition"].get("arguments", []):
        if a.get("required") and a["name"] not in args:
            raise Refusal(-32602, "argument %s is missing" % a["name"])
    known = [a["name"] for a in p["definition"].get("arguments", [])]
    return messages_of(run(p["handler"], with_call(p, {k: v for k, v in args.items() if k in known}, params)))


def messages_of(v):
    if isinstance(v, dict) and isinstance(v.get("messages"), list):
        return v
    out = []
    for m in v if isinstance(v, (list, tuple)) else [v]:
        if isinstance(m, dict) and m.get("role"):
            out.append({"role": m["role"], "content": text(m["content"]) if isinstance(m.get("content"), str) else m.get("content")})
        else:
            out.append({"role": "user", "content": m if is_content(m) else text(m)})
    return {"messages": out}


def complete(params):
    ref, argument = params.get("ref") or {}, params.get("argument") or {}
    if ref.get("type") == "ref/prompt":
        entry = prompts.get(ref.get("name"))
    else:
        entry = resources.get(ref.get("uri"))
        for t in templates:
            if t["definition"]["uriTemplate"] == ref.get("uri"):
                entry = t
    if entry is None:
        raise Refusal(-32602, "unknown ref: %s" % (ref.get("name") or ref.get("uri")))
    f, calls = entry["complete"].get(argument.get("name"), (None, []))
    typed = argument.get("value", "")
    if f is None:
        all = []
    elif isinstance(f, (list, tuple)):
        all = [v for v in f if v.startswith(typed)]
    else:
        all = run(lambda **calls: f(typed, **calls), with_call({"calls": calls}, {}, params))
    all = list(all)
    made = {"values": all[:100], "total": len(all)}
    if len(all) > 100:
        made["hasMore"] = True
    return {"completion": made}


METHODS = {
    "plugin/describe": describe_plugin,
    "tools/call": call_tool,
    "resources/read": read_resource,
    "prompts/get": get_prompt,
    "completion/complete": complete,
}


def refusal_of(e):
    if isinstance(e, Refusal):
        made = {"code": e.code, "message": e.message}
        if e.data is not None:
            made["data"] = e.data
        return made
    if isinstance(e, HostError) and e.required_capabilities:
        return {"code": -32603, "message": str(e), "data": {"kind": e.kind, "requiredCapabilities": e.required_capabilities}}
    log_stack(e)
    return {"code": -32603, "message": located(e)}


# handle answers one request, in JSON.
def handle(request):
    global call
    call = _json.loads(request)
    method = METHODS.get(call.get("method"))
    if method is None:
        return json_of({"error": {"code": -32601, "message": "method not found: %s" % call.get("method")}})
    try:
        return json_of({"result": method(call.get("params") or {})})
    except BaseException as e:
        return json_of({"error": refusal_of(e)})
