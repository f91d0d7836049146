// A client in TypeScript's SDK, of either version, that signs a person in by OAuth and takes steps: each step of
// SALLYPORT_CLIENT is one, and is answered by a line {step, text} or {step, error}.
import { createRequire } from 'node:module'

/** packages, uses, version, url, browser, redirect, steps, refresh, document */
const spec = JSON.parse(process.env.SALLYPORT_CLIENT)
const load = createRequire(spec.packages)
const modern = spec.uses === 'client'
const { Client, StreamableHTTPClientTransport } = modern
  ? load('@modelcontextprotocol/client')
  : { ...load('@modelcontextprotocol/sdk/client/index.js'), ...load('@modelcontextprotocol/sdk/client/streamableHttp.js') }

/** Keeper keeps what a client keeps between its runs, and sends the person to the browser. */
class Keeper {
  redirectUrl = spec.redirect
  clientMetadataUrl = spec.document || undefined
  clientMetadata = {
    client_name: 'a test', redirect_uris: [spec.redirect], response_types: ['code'], token_endpoint_auth_method: 'none',
    grant_types: spec.refresh ? ['authorization_code', 'refresh_token'] : ['authorization_code'],
  }
  state() { return 'state of this run' }
  clientInformation() { return this.client }
  saveClientInformation(client) { this.client = client }
  tokens() { return this.kept }
  saveTokens(tokens) { this.kept = tokens }
  codeVerifier() { return this.verifier }
  saveCodeVerifier(verifier) { this.verifier = verifier }
  discoveryState() { return this.discovered }
  saveDiscoveryState(state) { this.discovered = state }
  redirectToAuthorization(address) { this.asked = address }
}

/** browse has the person answer at address, and returns the parameters of the redirect back. */
async function browse(address) {
  const response = await fetch(`${spec.browser}?${new URLSearchParams({ address })}`)
  const text = await response.text()
  if (!response.ok) throw new Error(`browser: ${text}`)
  const back = new URL(text).searchParams
  if (back.get('error')) throw new Error(`sign-in: ${back.get('error')}: ${back.get('error_description')}`)
  return back
}

const keeper = new Keeper()
let transport, client

async function connect() {
  transport = new StreamableHTTPClientTransport(new URL(spec.url), { authProvider: keeper })
  const options = modern ? { versionNegotiation: { mode: spec.version === '2026-07-28' ? { pin: spec.version } : 'legacy' } } : {}
  client = new Client({ name: 'signin', version: '1' }, { capabilities: {}, ...options })
  await client.connect(transport)
}

/** signedIn does what needs a sign-in, and again after each one that it asks for. */
async function signedIn(action) {
  for (let asked = 0; ; asked++) {
    try {
      return await action()
    } catch (error) {
      if (!keeper.asked || asked === 3) throw error
      const back = await browse(keeper.asked)
      keeper.asked = undefined
      await transport.finishAuth(modern ? back : back.get('code'))
    }
  }
}

const actions = {
  connect: async () => { await signedIn(connect); return '' },
  list: async () => (await signedIn(() => client.listTools())).tools.map((t) => t.name).join(' '),
  close: async () => { await client.close(); return '' },
  call: async (name, args) => {
    const { content, isError } = await signedIn(() => client.callTool({ name, arguments: args }))
    if (isError) throw new Error(content[0].text)
    return content[0].text
  },
}

for (const [step, ...args] of spec.steps) {
  try {
    console.log(JSON.stringify({ step, text: await actions[step](...args) }))
  } catch (error) {
    console.log(JSON.stringify({ step, error: String(error) }))
    break
  }
}
await client?.close().catch(() => {})
