// What every client here does with the host, and what must come back. The test that runs a script
// says in SALLYPORT_CLIENT how to reach the host and what it serves; the script says "ok NAME" after
// each step, and the test knows which steps to expect.
import assert from 'node:assert/strict'
import { copyFile, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'

/** version, transport, packages, add: {from, to}; command, args, env (stdio) or url, token (HTTP) */
export const spec = JSON.parse(process.env.SALLYPORT_CLIENT)
/** load finds a package where make installed it. */
export const load = createRequire(spec.packages)
export const http = spec.transport === 'http'
export const stdioOptions = { command: spec.command, args: spec.args, env: spec.env, stderr: 'inherit' }

/** httpOptions are those of a transport that shows token. */
export const httpOptions = (token) => ({ requestInit: { headers: token ? { Authorization: `Bearer ${token}` } : {} } })

/** declared is what each client can be asked. */
export const declared = { elicitation: { form: {} }, sampling: {}, roots: {} }

const person = { username: 'ada', email: 'ada@example.com', name: 'Ada', color: 'blue' }

/** answer lets a client answer what it is asked; on(method, f) sets a handler. */
export function answer(on) {
  on('elicitation/create', async ({ params }) => {
    assert.match(params.message, /^Plugin conformance asks: /)
    const fields = Object.keys(params.requestedSchema.properties)
    return { action: 'accept', content: Object.fromEntries(fields.map((f) => [f, person[f]])) }
  })
  on('sampling/createMessage', async ({ params }) => (
    { role: 'assistant', model: 'm', content: { type: 'text', text: `to ${params.messages[0].content.text}` } }))
  on('roots/list', async () => ({ roots: [{ uri: 'file:///home/ada', name: 'home' }] }))
}

const within = 60_000 // milliseconds that a change may take to be told

const image = /^iVBORw0KGgo/ // a PNG in base64
const berlin = {
  time: '2026-07-01T14:30:00+02:00', zone: 'Europe/Berlin', weekday: 'Wednesday',
  offset: '+02:00', abbreviation: 'CEST', dst: true, unix: 1782909000, week: '2026-W27',
}
const tokyo = {
  time: '2026-07-01T21:30:00+09:00', zone: 'Asia/Tokyo', weekday: 'Wednesday',
  offset: '+09:00', abbreviation: 'JST', dst: false, unix: 1782909000, week: '2026-W27',
}

/** changes collects what a client is told of its tools: pass options to the client, await has. */
export function changes() {
  let told = () => {}
  let tools = []
  return {
    options: { tools: { debounceMs: 0, onChanged: (error, list) => { tools = error ? [] : list; told() } } },
    none: () => tools.length === 0,
    has: (name, wanted) => new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`nothing was told of ${name}`)), within)
      told = () => {
        if (tools.length && tools.some((t) => t.name === name) === wanted) resolve(clearTimeout(late))
      }
      told()
    }),
  }
}

/**
 * drive does it all. c.client is connected over c.transport; c.call(params, options) calls a tool;
 * c.negotiated is the version; c.changes is from changes(); c.refused(token) tries to connect with a
 * token and returns the HTTP status; c.wire(code) is the code that the client makes of an unknown
 * resource.
 */
export async function drive(c) {
  for (const step of [hello, tools, calls, content, errors, progress, asking, cancel, concurrent, resources, prompts, complete, header, logging, listChanged, updated]) {
    await step(c)
    console.log('ok', step.name)
  }
  await (http ? refused : ended)(c)
}

async function asking({ call }) {
  const text = async (name, args) => (await call({ name, arguments: args ?? {} })).content[0].text
  assert.equal(await text('test_sampling', { prompt: 'you' }), 'LLM response: to you')
  assert.equal(await text('test_elicitation', { message: 'Who?' }),
    'User response: action=accept, content={"username":"ada","email":"ada@example.com"}')
  assert.equal(await text('test_input_required_result_multiple_inputs'),
    'to Generate a greeting Ada of [{"uri":"file:///home/ada","name":"home"}]')
  assert.equal(await text('test_input_required_result_multi_round'), 'Ada likes blue')
}

function hello({ client, negotiated }) {
  assert.equal(negotiated, spec.version)
  assert.equal(client.getServerVersion().name, 'sallyport')
  const { tools, resources, prompts, completions } = client.getServerCapabilities()
  assert.ok(tools && resources && prompts && completions)
}

async function tools({ client }) {
  const { tools } = await client.listTools()
  assert.deepEqual(tools.map((t) => t.name), spec.tools)
  const now = tools.find((t) => t.name === 'time-now')
  assert.equal(now.title, 'Current time')
  assert.deepEqual(now.annotations, { readOnlyHint: true, openWorldHint: false })
  const { inputSchema } = tools.find((t) => t.name === 'json_schema_2020_12_tool')
  assert.equal(inputSchema.$schema, 'https://json-schema.org/draft/2020-12/schema')
  assert.equal(inputSchema.$defs.address.$anchor, 'addressDef')
  assert.deepEqual(inputSchema.allOf, [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }])
  assert.equal(inputSchema.additionalProperties, false)
}

async function calls({ call }) {
  const now = await call({ name: 'time-now', arguments: { zone: 'Asia/Tokyo' } })
  assert.ok(!now.isError)
  const seconds = Date.now() / 1000 - now.structuredContent.unix
  assert.ok(seconds > -1 && seconds < 10, `now is ${seconds} s away`)
  assert.equal(now.structuredContent.offset, '+09:00')
  const convert = await call({ name: 'time-convert', arguments: { time: '2026-07-01 14:30', from: 'Europe/Berlin', to: ['Asia/Tokyo'] } })
  assert.deepEqual(convert.structuredContent, { from: berlin, to: [tokyo] })
  assert.deepEqual(JSON.parse(convert.content[0].text), convert.structuredContent)
}

async function content({ call }) {
  const result = await call({ name: 'test_multiple_content_types', arguments: {} })
  assert.deepEqual(result.content.map((c) => c.type), ['text', 'image', 'resource'])
  assert.match(result.content[1].data, image)
  assert.equal(result.content[2].resource.text, '{"test":"data","value":123}')
  const sound = (await call({ name: 'test_audio_content' })).content[0]
  assert.equal(sound.mimeType, 'audio/wav')
  assert.equal(Buffer.from(sound.data, 'base64').subarray(0, 4).toString(), 'RIFF')
}

async function errors({ client, call, wire }) {
  const failed = async (name, args, text) => {
    const result = await call({ name, arguments: args })
    assert.equal(result.isError, true)
    assert.equal(result.content[0].text, text)
  }
  await failed('time-convert', { time: 5, to: ['UTC'] }, 'time-convert: invalid arguments: /time: want string, but got number')
  await failed('test_error_handling', {}, 'This tool intentionally returns an error for testing')
  await assert.rejects(call({ name: 'time-none', arguments: {} }), { code: -32602, message: /unknown tool: time-none$/ })
  await assert.rejects(client.readResource({ uri: 'test://none' }), { code: wire, message: /unknown resource$/ })
  await assert.rejects(client.getPrompt({ name: 'none' }), { code: -32602, message: /unknown prompt: none$/ })
}

// These clients lose a notification that comes in one read with the result, so the last may be missing.
async function progress({ call }) {
  const seen = []
  const result = await call({ name: 'test_tool_with_progress', arguments: {} }, { onprogress: (p) => seen.push(p) })
  assert.equal(result.content[0].text, 'Progress was reported three times.')
  const told = [[0, 100, 'started'], [50, 100, 'half done'], [100, 100, 'done']]
  assert.ok(seen.length >= 2)
  assert.deepEqual(seen.map((p) => [p.progress, p.total, p.message]), told.slice(0, seen.length))
}

async function cancel({ call }) {
  const stop = new AbortController()
  const waiting = call({ name: 'test_tool_with_progress', arguments: {} }, { signal: stop.signal, onprogress: () => stop.abort('enough') })
  await assert.rejects(waiting, /enough/)
}

async function concurrent({ call }) {
  const times = Array.from({ length: 12 }, (_, i) => 86400 * (i + 1))
  const results = await Promise.all(times.map((t) => call({ name: 'time-convert', arguments: { time: `@${t}`, to: ['UTC'] } })))
  assert.deepEqual(results.map((r) => r.structuredContent.to[0].unix), times)
}

async function resources({ client }) {
  const { resources } = await client.listResources()
  assert.deepEqual(resources.map((r) => r.uri), ['sallyport://plugins', 'test://static-binary', 'test://static-text', 'test://watched-resource'])
  const { resourceTemplates } = await client.listResourceTemplates()
  assert.deepEqual(resourceTemplates.map((r) => r.uriTemplate), ['test://template/{id}/data'])
  const read = async (uri) => (await client.readResource({ uri })).contents
  assert.deepEqual(await read('test://static-text'), [
    { uri: 'test://static-text', mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
  ])
  assert.match((await read('test://static-binary'))[0].blob, image)
  assert.deepEqual(JSON.parse((await read('test://template/42/data'))[0].text), { id: '42', templateTest: true, data: 'Data for ID: 42' })
}

async function prompts({ client }) {
  const { prompts } = await client.listPrompts()
  assert.deepEqual(prompts.map((p) => p.name), [
    'test_input_required_result_prompt', 'test_prompt_with_arguments', 'test_prompt_with_embedded_resource', 'test_prompt_with_image', 'test_simple_prompt',
  ])
  const { messages } = await client.getPrompt({ name: 'test_prompt_with_arguments', arguments: { arg1: 'a', arg2: 'ü "b"' } })
  assert.deepEqual(messages, [{ role: 'user', content: { type: 'text', text: `Prompt with arguments: arg1='a', arg2='ü "b"'` } }])
  await assert.rejects(client.getPrompt({ name: 'test_prompt_with_arguments', arguments: { arg1: 'a' } }), { code: -32602, message: /"arg2"/ })
}

async function complete({ client }) {
  const ask = async (ref, name, value) => (await client.complete({ ref, argument: { name, value } })).completion.values
  assert.deepEqual(await ask({ type: 'ref/prompt', name: 'test_prompt_with_arguments' }, 'arg1', 'pari'), ['paris'])
  assert.deepEqual(await ask({ type: 'ref/resource', uri: 'test://template/{id}/data' }, 'id', '1'), ['123'])
}

// Over HTTP a client of the modern era mirrors this argument in a header, encoded if it must be.
async function header({ call }) {
  for (const region of ['eu', ' ünder\nway ']) {
    assert.equal((await call({ name: 'test_x_mcp_header', arguments: { region } })).content[0].text, `The region is ${region}.`)
  }
}

// The level is part of the session in one era, of the request in the other.
async function logging({ client, call }) {
  const told = []
  client.fallbackNotificationHandler = async (n) => { if (n.method === 'notifications/message') told.push(n.params) }
  const level = async (wanted) => {
    if (spec.version === '2026-07-28') return { _meta: { 'io.modelcontextprotocol/logLevel': wanted } }
    return client.setLoggingLevel(wanted).then(() => ({}))
  }
  for (const wanted of ['info', 'warning']) {
    await call({ name: 'test_logging_tool', arguments: {}, ...await level(wanted) })
  }
  await new Promise(setImmediate) // what came with the last result is handled after it
  assert.deepEqual(told.map((m) => [m.level, m.data]), [['info', 'This message is for those who set a log level']])
}

// A plugin is dropped into the folder, and taken away again. Where the host does not announce that it
// tells of changes, the next list must show them.
async function listChanged({ client, changes }) {
  assert.ok(client.getServerCapabilities().tools.listChanged)
  assert.ok(changes.none(), 'a change was told, but nothing changed')
  await copyFile(spec.add.from, spec.add.to)
  await changes.has(spec.add.tool, true)
  await rm(spec.add.to)
  await changes.has(spec.add.tool, false)
}

// A resource that the client subscribed to is said to be updated: in the modern era by a listen of its own.
async function updated({ client, call }) {
  const uri = 'test://watched-resource'
  const heard = new Promise((done) => { client.fallbackNotificationHandler = async (n) => done(n) })
  const subscription = client.listen && spec.version === '2026-07-28'
    ? await client.listen({ resourceSubscriptions: [uri] })
    : void await client.subscribeResource({ uri })
  await call({ name: 'test_trigger_resource_update', arguments: {} })
  const late = new Promise((_, fail) => setTimeout(() => fail(new Error('no update was told')), within).unref())
  const { method, params } = await Promise.race([heard, late])
  assert.equal(method, 'notifications/resources/updated')
  assert.equal(params.uri, uri)
  await (subscription ? subscription.close() : client.unsubscribeResource({ uri }))
}

// The host ends by itself when its input does.
async function ended({ client, transport }) {
  const { pid } = transport
  assert.ok(pid > 0)
  const begin = Date.now()
  await client.close()
  assert.ok(Date.now() - begin < 1900, 'the host had to be killed') // the SDKs kill after two seconds
  assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' })
  console.log('ok ended')
}

async function refused({ client, transport, refused }) {
  if (spec.version !== '2026-07-28') {
    assert.match(transport.sessionId, /^[\x21-\x7e]{20,}$/)
    await transport.terminateSession()
    assert.equal(transport.sessionId, undefined)
  }
  await client.close()
  assert.equal(await refused('wrong'), 401)
  assert.equal(await refused(''), 401)
  console.log('ok refused')
}
