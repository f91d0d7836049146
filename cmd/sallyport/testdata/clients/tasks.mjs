// The tasks of 2025-11-25, driven by the package that the extension's own authors publish for clients.
import assert from 'node:assert/strict'
import { pathToFileURL } from 'node:url'
import { http, httpOptions, load, spec, stdioOptions } from './helper.mjs'

const { Client, StreamableHTTPClientTransport } = load('@modelcontextprotocol/client')
const { StdioClientTransport } = load('@modelcontextprotocol/client/stdio')
const published = (part) => import(pathToFileURL(`${spec.packages}@modelcontextprotocol/ext-tasks/dist/${part}/index.js`))
const { createTaskSessionFromClient } = await published('client')
const { TaskStatusNotificationV1Schema } = await published('core/v1')

const client = new Client({ name: 'tasks', version: '1' }, { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: 'legacy' } })
client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: { confirm: true } }))
const transport = http ? new StreamableHTTPClientTransport(new URL(spec.url), httpOptions(spec.token)) : new StdioClientTransport(stdioOptions)
await client.connect(transport)

let statuses = []
const next = transport.onmessage
transport.onmessage = (message, extra) => {
  if (message.method?.startsWith('notifications/tasks')) statuses.push(TaskStatusNotificationV1Schema.parse(message).params.status)
  return next(message, extra)
}

const session = createTaskSessionFromClient(client, { endpointId: 'host' })
async function run(tool, args) {
  statuses = []
  const execution = await session.callTool(tool, args, { declaration: { name: tool, taskSupport: 'required' } }) // so that it wants one
  const { outcome } = await execution.settle()
  const over = ['completed', 'failed']
  while (!over.includes(statuses.at(-1))) await new Promise((f) => setTimeout(f, 20)) // it may come on another stream
  return { outcome, heard: statuses }
}

{
  const { outcome, heard } = await run('slow_compute', { seconds: 0.5 })
  assert.equal(outcome.status, 'completed')
  assert.deepEqual(heard, ['completed'])
  console.log('ok works')
}
{ // it looks how the task stands and never waits in tasks/result, so it is asked without
  const { outcome, heard } = await run('confirm_delete', { filename: 'f' })
  assert.equal(outcome.result.content[0].text, 'Deleted f.')
  assert.deepEqual(heard, ['input_required', 'working', 'completed'])
  console.log('ok asks')
}
{
  const { outcome } = await run('failing_job', {})
  assert.equal(outcome.status, 'failed')
  console.log('ok fails')
}
await session.close()
await client.close()
