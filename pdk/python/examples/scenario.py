# The plugin of pdk/scenario in Python: each library for authors has one, and all answer alike.
from dataclasses import dataclass
from typing import Annotated, Literal, TypedDict

from sallyport import (Call, Field, HostError, ToolError, ask, audio, call_tool, config, elicit, embed, fetch, image, kv, link, log, plugin, progress, prompt, release, resource,
                       resource_updated, roots, sample, text, tool, tools_changed, want)

plugin(name="scenario", version="1.0.0", description="Answers the scenario.")
want("kv", "1MiB", "counts visits")

Name = Annotated[str, "who to greet"]


@tool(read_only=True)
def hello(name: Name):
    """Greets someone."""
    return f"Hello, {name}!"


@dataclass
class Address:
    street: str
    floor: int = 0


@dataclass
class Line:
    item: Literal["espresso", "filter"]
    count: Annotated[int, Field(ge=1)] = 1


@tool
def order(to: Address, lines: list[Line], express: bool = False):
    """Takes an order."""
    items = ", ".join(f"{line.count} {line.item}" for line in lines)
    return f"{items} to {to.street}, floor {to.floor}{', express' if express else ''}"


class Sum(TypedDict):
    count: int
    total: int
    even: bool


@tool
def sum(numbers: list[int]) -> Sum:
    """Adds numbers."""
    total = 0
    for n in numbers:
        total += n
    return {"count": len(numbers), "total": total, "even": total % 2 == 0}


MOTTO = "once, or said so"
DOT = bytes([0, 1, 2, 253, 254, 255])


@tool
def contents():
    """Has a block of each kind."""
    return [
        text('größer <&> "quoted"\n'),
        image(DOT),
        audio(DOT[:4]),
        link("scenario://motto", "motto"),
        embed("scenario://motto", MOTTO, "text/plain"),
        embed("scenario://dot", DOT[:5], "image/png"),
    ]


@tool
def fail():
    """Fails."""
    raise ToolError("the tool says no")


@dataclass
class Choice:
    colour: Literal["red", "green"]
    count: int


@tool(name="ask")
def question():
    """Asks the person."""
    a = elicit("Which colour, and how many?", Choice)
    if a:
        return f"{a.count} × {a.colour}"
    return "declined" if a is False else "dismissed"


@tool
def think():
    """Asks the model."""
    a = sample("Why?", max_tokens=50)
    return f"{a.model} says: {a.text}"


@tool(name="roots")
def folders():
    """Lists the client's folders."""
    return " ".join(r["uri"] for r in roots())


@tool(name="fetch")
def page(path: str):
    """Gets a page."""
    r = fetch(config("WEB", "") + path)
    return f"{r.status} {r.text}"


@tool
def post():
    """Sends a text."""
    return fetch(config("WEB", "") + "/echo", method="POST", headers={"Content-Type": "text/plain"}, body="größer").text


@tool
def forbidden():
    """Asks for a page that no grant allows."""
    fetch("https://example.com/")


REQUESTS = {
    "denied": lambda: fetch("https://example.com/"),
    "invalid": lambda: kv.get(""),
    "unsupported": lambda: ask("no/such"),
    "unavailable": lambda: fetch(config("WEB", "") + "/broken"),
    "timeout": lambda: ask("http/fetch", {"method": "GET", "url": config("WEB", "") + "/slow", "timeoutMs": 50}),
    "limit": lambda: sample("Why?", max_tokens=5000),
    "conflict": lambda: kv.set("never", 1, if_version=7),
}


@tool
def refused(kind: Literal["denied", "invalid", "unsupported", "unavailable", "timeout", "limit", "conflict"]):
    """Tells how the host refuses."""
    try:
        REQUESTS[kind]()
        return "not refused"
    except HostError as e:
        return f"{e.kind}: {e}" + (f" [{e.hint}]" if e.hint else "")


@tool
def visit(again: bool = False):
    """Counts visits."""
    if not again:
        kv.delete("visits")
    n = kv.get("visits", 0) + 1
    kv.set("visits", n)
    return f"visit {n}"


@tool
def keys():
    """Keeps many keys."""
    for i in range(1001):
        kv.set(f"key/{i}", i)
    names, more = [], True
    while more:
        page = kv.list("key/", after=names[-1] if names else None)
        names += [k["key"] for k in page["keys"]]
        more = page["more"]
    return f"{len(names)} keys, {names[0]} to {names[-1]}"


@tool
def news(show: bool = False):
    """Tells of changes."""
    tools_changed(show=["post"]) if show else tools_changed(hide=["post"])
    resource_updated("scenario://motto")
    return "told"


@tool
def steps():
    """Reports progress."""
    release()
    progress(1, 2, "half")
    log("warning", {"step": 1})
    progress(2, 2)
    return "done"


@tool
def twice(name: Name):
    """Calls hello."""
    once = "".join(c["text"] for c in call_tool("hello", {"name": name})["content"] if c["type"] == "text")
    return f"{once} {once}"


@tool
def nested():
    """Calls fail."""
    return call_tool("fail")


@resource("scenario://motto", mime_type="text/plain")
def motto():
    """A text."""
    return MOTTO


@resource("scenario://dot", mime_type="image/png")
def dot():
    """Some bytes."""
    return DOT


@resource("scenario://city/{name}", mime_type="text/plain", complete={"name": ["Paris", "São Paulo", "São Tomé"]})
def city(name: str):
    """A city."""
    return None if name == "nowhere" else f"The city of {name}"


def tones(typed: str, call: Call):
    beside = [f"{call.argument} of {call.name} for {call.chosen['file']}"] if "file" in call.chosen else []
    return [t for t in ["kind", "strict", "stern"] + beside if t.startswith(typed)]


@prompt(complete={"tone": tones})
def review(file: str, tone: str = ""):
    """Asks for a review.

    Args:
        file: what to look at
    """
    return [
        {"role": "user", "content": f"Review {file}." + (f" Be {tone}." if tone else "")},
        {"role": "assistant", "content": f"I begin with {file}."},
    ]
