// The TypeScript client of both eras.
import { answer, changes, declared, drive, http, httpOptions, load, spec, stdioOptions } from './helper.mjs'

const { Client, StreamableHTTPClientTransport } = load('@modelcontextprotocol/client')
const { StdioClientTransport } = load('@modelcontextprotocol/client/stdio')

const told = changes()
const mode = spec.version === '2026-07-28' ? 'auto' : 'legacy' // auto asks for the modern era first
const create = () => new Client({ name: 'typescript', version: '1' }, { capabilities: declared, versionNegotiation: { mode }, listChanged: told.options })
const over = (token) => http ? new StreamableHTTPClientTransport(new URL(spec.url), httpOptions(token)) : new StdioClientTransport(stdioOptions)

const client = create()
answer((method, f) => client.setRequestHandler(method, f))
const transport = over(spec.token)
await client.connect(transport)
await drive({
  client, transport, changes: told,
  negotiated: client.getNegotiatedProtocolVersion(),
  wire: -32602, // what this client makes of either era's code
  call: (params, options) => client.callTool(params, options),
  refused: (token) => create().connect(over(token)).then(() => 200, (error) => error.status ?? error),
})
