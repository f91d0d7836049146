"""A client in Python's SDK that takes steps: each line of standard input is one, and is answered by a line with the
client's error, or with "" for none. The test that runs it records what the server sends."""

import asyncio
import json
import os
import sys
import warnings

import mcp.types as types
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

warnings.simplefilter("ignore")
spec = json.loads(os.environ["SALLYPORT_CLIENT"])
modern = spec["version"] == "2026-07-28"
meta = {"io.modelcontextprotocol/logLevel": "debug"} if modern else None


async def fill(context, params):
    return types.ElicitResult(action="accept", content={"random": "r"})


async def think(context, params):
    return types.CreateMessageResult(role="assistant", model="m", content=types.TextContent(type="text", text="because"))


async def roots(context):
    return types.ListRootsResult(roots=[types.Root(uri="file:///work", name="work")])


async def ignore(*_):
    pass


async def lists(client):
    has = client.server_capabilities
    for capability, read in (
        (has.tools, client.list_tools),
        (has.prompts, client.list_prompts),
        (has.resources, client.list_resources),
        (has.resources, client.list_resource_templates),
    ):
        cursor, more = None, capability is not None
        while more:
            cursor = (await read(cursor=cursor)).next_cursor
            more = cursor is not None
    if has.logging and not modern:
        await client.set_logging_level("debug")


async def take(client, kind, name, args):
    match kind:
        case "lists":
            await lists(client)
        case "tool":
            await client.call_tool(name, args or {}, progress_callback=ignore, meta=meta)
        case "quiet":
            await client.call_tool(name, args or {}, meta={"example.com/quiet": True} | (meta or {}))
        case "prompt":
            await client.get_prompt(name, args or {})
        case "uri":
            await client.read_resource(name)
        case "complete":
            for key, value in args.items():
                await client.complete(types.PromptReference(type="ref/prompt", name=name), {"name": key, "value": value})


async def main():
    server = StdioServerParameters(command=spec["command"], args=spec["args"], env=spec["env"])
    async with Client(server, mode="auto" if modern else "legacy", elicitation_callback=fill, sampling_callback=think,
                      list_roots_callback=roots, logging_callback=ignore) as client:
        print('""', flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            step, error = json.loads(line), ""
            try:
                await take(client, step["kind"], step["name"], step["args"])
            except Exception as e:
                error = repr(e)
            print(json.dumps(error), flush=True)


asyncio.run(main())
