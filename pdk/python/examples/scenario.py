# The plugin of pdk/scenario in Python: each library for authors has one, and all answer alike.
from dataclasses import dataclass
from typing import Annotated, Literal, TypedDict

from sallyport import (Field, HostError, ToolError, audio, call_tool, config, elicit, embed, fetch, image, kv, link, log, plugin, progress, prompt, resource, roots, sample, text,
                       tool, want)

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


@tool
def ask():
    """Asks the person."""
    a = elicit("Which colour, and how many?", Choice)
    return f"{a.count} × {a.colour}" if a else "no answer"


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
    try:
        return fetch("https://example.com/").text
    except HostError as e:
        return e.kind


@tool
def visit(again: bool = False):
    """Counts visits."""
    if not again:
        kv.delete("visits")
    n = kv.get("visits", 0) + 1
    kv.set("visits", n)
    return f"visit {n}"


@tool
def steps():
    """Reports progress."""
    progress(1, 2, "half")
    log("warning", {"step": 1})
    progress(2, 2)
    return "done"


@tool
def twice(name: Name):
    """Calls hello."""
    once = "".join(c["text"] for c in call_tool("hello", {"name": name})["content"] if c["type"] == "text")
    return f"{once} {once}"


@resource("scenario://motto", mime_type="text/plain")
def motto():
    """A text."""
    return MOTTO


@resource("scenario://dot", mime_type="image/png")
def dot():
    """Some bytes."""
    return DOT


@resource("scenario://city/{name}", mime_type="text/plain")
def city(name: str):
    """A city."""
    return None if name == "nowhere" else f"The city of {name}"


@prompt(complete={"tone": ["kind", "strict", "stern"]})
def review(file: str, tone: str = ""):
    """Asks for a review.

    Args:
        file: what to look at
    """
    return [
        {"role": "user", "content": f"Review {file}." + (f" Be {tone}." if tone else "")},
        {"role": "assistant", "content": f"I begin with {file}."},
    ]
