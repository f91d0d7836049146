// The TypeScript client with Extism plugins of both kinds.
import assert from 'node:assert/strict'
import { http, httpOptions, load, spec, stdioOptions } from './helper.mjs'

const { Client, StreamableHTTPClientTransport } = load('@modelcontextprotocol/client')
const { StdioClientTransport } = load('@modelcontextprotocol/client/stdio')

const mode = spec.version === '2026-07-28' ? 'auto' : 'legacy'
const client = new Client({ name: 'typescript', version: '1' }, { versionNegotiation: { mode } })
await client.connect(http ? new StreamableHTTPClientTransport(new URL(spec.url), httpOptions(spec.token)) : new StdioClientTransport(stdioOptions))
assert.equal(client.getNegotiatedProtocolVersion(), spec.version)

const { tools } = await client.listTools()
assert.deepEqual(tools.map((t) => t.name), ['letters-count', 'notes-find'])
assert.equal('title' in tools[1], false, 'a null of the plugin comes through')

const count = await client.callTool({ name: 'letters-count', arguments: { text: 'hello' } })
assert.deepEqual(count.content, [{ type: 'text', text: '3 vowels' }])
const find = await client.callTool({ name: 'notes-find', arguments: { text: 'e' } })
assert.deepEqual(find.structuredContent, { found: ['tea', 'coffee'] })
const none = await client.callTool({ name: 'notes-find', arguments: { text: '' } })
assert.equal(none.isError, true)
assert.deepEqual(none.content, [{ type: 'text', text: 'an empty text is everywhere' }])

const { prompts } = await client.listPrompts()
assert.deepEqual(prompts.map((p) => [p.name, p.arguments]), [['notes-describe', [{ name: 'note', required: true }]]])
const { messages } = await client.getPrompt({ name: 'notes-describe', arguments: { note: 'tea' } })
assert.deepEqual(messages, [{ role: 'user', content: { type: 'text', text: 'What is tea?' } }])

const { resources } = await client.listResources()
assert.deepEqual(resources.map((r) => r.uri), ['notes://all', 'sallyport://plugins'])
const { resourceTemplates } = await client.listResourceTemplates()
assert.deepEqual(resourceTemplates.map((r) => r.uriTemplate), ['notes://note/{name}'])
const read = async (uri) => (await client.readResource({ uri })).contents
assert.deepEqual(await read('notes://all'), [{ uri: 'notes://all', mimeType: 'text/plain', text: 'milk\ntea\ncoffee' }])
assert.deepEqual(await read('notes://note/tea'), [{ uri: 'notes://note/tea', mimeType: 'text/plain', text: 'the note tea' }])

const complete = async (ref, name, value) => (await client.complete({ ref, argument: { name, value } })).completion.values
assert.deepEqual(await complete({ type: 'ref/prompt', name: 'notes-describe' }, 'note', 'co'), ['coffee'])
assert.deepEqual(await complete({ type: 'ref/resource', uri: 'notes://note/{name}' }, 'name', 'm'), ['milk'])
await client.close()
console.log('ok all')
