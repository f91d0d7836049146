"""A client in Python's SDK that signs a person in by OAuth and takes steps: each step of SALLYPORT_CLIENT is one, and is
answered by a line {step, text} or {step, error}."""

import asyncio
import json
import os
import traceback
import urllib.parse
import urllib.request

import httpx2
from mcp.client import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

spec = json.loads(os.environ["SALLYPORT_CLIENT"])


class Keeper:
    """Keeps what a client keeps between its runs, and sends the person to the browser."""

    tokens = client = back = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client

    async def ask(self, address):
        def browse():
            query = urllib.parse.urlencode({"address": address})
            with urllib.request.urlopen(f"{spec['browser']}?{query}") as response:
                return response.read().decode()

        self.back = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(await asyncio.to_thread(browse)).query))

    async def answered(self):
        if "error" in self.back:
            raise RuntimeError(f"sign-in: {self.back['error']}: {self.back.get('error_description')}")
        return AuthorizationCodeResult(code=self.back["code"], state=self.back.get("state"), iss=self.back.get("iss"))


def leaf(error):
    """The first cause of an error of several tasks."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


async def take(client, provider, step, args):
    match step:
        case "connect" | "close":
            return ""
        case "list":
            return " ".join(tool.name for tool in (await client.list_tools()).tools)
        case "expire":  # as the client's clock says
            provider.context.token_expiry_time = 1.0
            return ""
        case "call":
            result = await client.call_tool(*args)
            if result.is_error:
                raise RuntimeError(result.content[0].text)
            return result.content[0].text


async def main():
    keeper = Keeper()
    provider = OAuthClientProvider(
        server_url=spec["url"],
        client_metadata=OAuthClientMetadata(
            client_name="a test",
            redirect_uris=[spec["redirect"]],
            token_endpoint_auth_method="none",
            grant_types=["authorization_code", "refresh_token"] if spec["refresh"] else ["authorization_code"],
        ),
        storage=keeper,
        redirect_handler=keeper.ask,
        callback_handler=keeper.answered,
        client_metadata_url=spec["document"] or None,
    )
    # A request that began a sign-in steps up no further: the next one does.
    for last in False, True:
        step, done, error = await visit(provider)
        if error is None or last or provider.context.current_tokens is None:
            break
    for name, text in done:
        print(json.dumps({"step": name, "text": text}))
    if error is not None:
        print(json.dumps({"step": step, "error": leaf(error)}))


async def visit(provider):
    """Takes the steps, and returns the last one, those with their results, and the error of the last one."""
    mode = "legacy" if spec["version"] == "2025-11-25" else spec["version"]
    step, done = "connect", []
    try:
        async with (
            httpx2.AsyncClient(auth=provider, timeout=60) as http,
            Client(streamable_http_client(spec["url"], http_client=http), mode=mode) as client,
        ):
            for step, *args in spec["steps"]:
                done.append((step, await take(client, provider, step, args)))
    except BaseException as error:
        traceback.print_exc()
        return step, done, error
    return step, done, None


asyncio.run(main())
