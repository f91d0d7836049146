// The three tools of the comparison as a server of the TypeScript SDK on Node: on standard input and output, or over
// HTTP with the argument "http", where the address is the first line of standard error.
import { createHash, randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { z } from 'zod'

const sale = z.object({ region: z.string(), product: z.string(), quantity: z.number().int(), price: z.number(), note: z.string().optional() })

function total({ title, sales }) {
  const byName = new Map()
  const report = { title, regions: [], total: 0, summary: '', notes: [] }
  for (const s of sales) {
    let r = byName.get(s.region)
    if (!r) byName.set(s.region, r = { name: s.region, sales: 0, quantity: 0, revenue: 0, products: {}, best: '' })
    r.sales++
    r.quantity += s.quantity
    r.revenue += s.price * s.quantity
    r.products[s.product] = (r.products[s.product] ?? 0) + s.quantity
    report.total += s.price * s.quantity
    if (s.note) report.notes.push(s.note)
  }
  for (const r of byName.values()) {
    r.best = Object.entries(r.products).sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))[0][0]
    report.regions.push(r)
  }
  report.regions.sort((a, b) => b.revenue - a.revenue || (a.name < b.name ? -1 : 1))
  report.summary = `${sales.length} sales in ${byName.size} regions, ${report.total.toFixed(2)} in all`
  return report
}

function digest({ seed }) {
  const data = Buffer.alloc(64 << 10)
  for (let i = 0; i < data.length; i++) data[i] = i * 31 + seed
  return createHash('sha256').update(data).digest('hex')
}

const text = text => ({ content: [{ type: 'text', text }] })

function tools() {
  const server = new McpServer({ name: 'node', version: '1' })
  server.registerTool('echo', { description: 'answers with its text', inputSchema: { text: z.string() } }, a => text(a.text))
  server.registerTool('report', { description: 'totals sales by region', inputSchema: { title: z.string(), sales: z.array(sale) } }, a => {
    const report = total(a)
    return { ...text(JSON.stringify(report)), structuredContent: report }
  })
  server.registerTool('sha', { description: 'digests 64 KiB', inputSchema: { seed: z.number().int() } }, a => text(digest(a)))
  return server
}

if (process.argv[2] === 'http') {
  const sessions = new Map()
  const http = createServer(async (req, res) => {
    let transport = sessions.get(req.headers['mcp-session-id'])
    if (!transport) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID, enableJsonResponse: true, onsessioninitialized: id => sessions.set(id, transport) })
      await tools().connect(transport)
    }
    await transport.handleRequest(req, res)
  })
  http.listen(0, '127.0.0.1', () => console.error(`on http://127.0.0.1:${http.address().port}/mcp`))
  process.stdin.resume().on('end', () => process.exit(0))
} else {
  process.stdin.on('end', () => process.exit(0))
  await tools().connect(new StdioServerTransport())
}
