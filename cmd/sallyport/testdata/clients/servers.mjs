// A client in TypeScript's SDK that takes steps: each line of standard input is one, and is answered by a line with the
// client's error, or with "" for none. The test that runs it records what the server sends.
import { createInterface } from 'node:readline'
import { createRequire } from 'node:module'

/** packages, version; command, args and env of the server */
const spec = JSON.parse(process.env.SALLYPORT_CLIENT)
const load = createRequire(spec.packages)
const { Client } = load('@modelcontextprotocol/client')
const { StdioClientTransport } = load('@modelcontextprotocol/client/stdio')

const modern = spec.version === '2026-07-28'
const client = new Client({ name: 'test', version: '1' },
  { capabilities: { elicitation: { form: {} }, sampling: {}, roots: {} }, versionNegotiation: { mode: modern ? 'auto' : 'legacy' } })
client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: { random: 'r' } }))
client.setRequestHandler('sampling/createMessage', async () => ({ role: 'assistant', model: 'm', content: { type: 'text', text: 'because' } }))
client.setRequestHandler('roots/list', async () => ({ roots: [{ uri: 'file:///work', name: 'work' }] }))
await client.connect(new StdioClientTransport({ command: spec.command, args: spec.args, env: spec.env, stderr: 'inherit' }))

const _meta = modern ? { 'io.modelcontextprotocol/logLevel': 'debug' } : undefined
const steps = {
  async lists() {
    const { tools, prompts, resources, logging } = client.getServerCapabilities()
    if (tools) await client.listTools()
    if (prompts) await client.listPrompts()
    if (resources) await client.listResources()
    if (resources) await client.listResourceTemplates()
    if (logging && !modern) await client.setLoggingLevel('debug')
  },
  tool: (name, args) => client.callTool({ name, arguments: args ?? {}, _meta }, { onprogress() {} }),
  quiet: (name, args) => client.callTool({ name, arguments: args ?? {}, _meta: { ..._meta, 'example.com/quiet': true } }),
  prompt: (name, args) => client.getPrompt({ name, arguments: args ?? {} }),
  uri: (uri) => client.readResource({ uri }),
  async complete(name, args) {
    for (const [key, value] of Object.entries(args)) {
      await client.complete({ ref: { type: 'ref/prompt', name }, argument: { name: key, value } })
    }
  },
}

console.log('""')
for await (const line of createInterface({ input: process.stdin })) {
  const { kind, name, args } = JSON.parse(line)
  const error = await steps[kind](name, args).then(() => '', (e) => `${e}`)
  console.log(JSON.stringify(error))
}
await client.close()
