// The TypeScript SDK that speaks the era of initialize only.
import { answer, changes, declared, drive, http, httpOptions, load, spec, stdioOptions } from './helper.mjs'

const { Client } = load('@modelcontextprotocol/sdk/client/index.js')
const { StdioClientTransport } = load('@modelcontextprotocol/sdk/client/stdio.js')
const { StreamableHTTPClientTransport } = load('@modelcontextprotocol/sdk/client/streamableHttp.js')
const types = load('@modelcontextprotocol/sdk/types.js')

const told = changes()
const create = () => new Client({ name: 'sdk', version: '1' }, { capabilities: declared, listChanged: told.options })
const over = (token) => http ? new StreamableHTTPClientTransport(new URL(spec.url), httpOptions(token)) : new StdioClientTransport(stdioOptions)

const client = create()
const schemas = {
  'elicitation/create': types.ElicitRequestSchema,
  'sampling/createMessage': types.CreateMessageRequestSchema,
  'roots/list': types.ListRootsRequestSchema,
}
answer((method, f) => client.setRequestHandler(schemas[method], f))
const transport = over(spec.token)
let negotiated
const set = transport.setProtocolVersion?.bind(transport)
transport.setProtocolVersion = (version) => { negotiated = version; set?.(version) }
await client.connect(transport)
await drive({
  client, transport, negotiated, changes: told,
  wire: -32002,
  call: (params, options) => client.callTool(params, undefined, options),
  refused: (token) => create().connect(over(token)).then(() => 200, (error) => error.code ?? error),
})
