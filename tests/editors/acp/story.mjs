// Runs a whole session of the official TypeScript client, and checks every message of both sides against the schema of that
// package. `node story.mjs RIG COMMAND...` prints the result as one line of JSON.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { Readable, Writable } from 'node:stream'
import { pathToFileURL } from 'node:url'

const [rig, command, ...args] = process.argv.slice(2)
const sdk = path.join(rig, 'node_modules/@agentclientprotocol/sdk')
const acp = await import(pathToFileURL(path.join(sdk, 'dist/v1/stable/acp.js')))
const { default: Ajv } = createRequire(path.join(rig, 'package.json'))('ajv/dist/2020.js')

const schema = JSON.parse(fs.readFileSync(path.join(sdk, 'schema/v1/schema.json'), 'utf8'))
const ajv = new Ajv({ strict: false, validateFormats: false }).addSchema(schema, 'acp')
const kinds = {}
for (const [name, type] of Object.entries(schema.$defs)) {
  const kind = /(Request|Response|Notification)$/.exec(name)?.[1]
  if (type['x-method'] && kind) (kinds[type['x-method']] ??= {})[kind] = name
}
const problems = []
let checked = 0
function check(method, kind, value) {
  if (method === undefined || method.startsWith('_')) return
  const name = kinds[method]?.[kind]
  if (!name) return problems.push(`${method}: no ${kind} of the protocol`)
  checked += 1
  const validate = ajv.getSchema(`acp#/$defs/${name}`)
  if (!validate(value ?? {})) problems.push(`${method} ${kind}: ${ajv.errorsText(validate.errors)}`)
}

/** Passes a stream through, and calls `look` with each of its lines. */
function tap(look) {
  let rest = ''
  const decoder = new TextDecoder()
  return new TransformStream({
    transform(chunk, out) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
      rest = lines.pop()
      for (const line of lines.filter(it => it.trim())) look(JSON.parse(line))
      out.enqueue(chunk)
    },
  })
}

const asked = { '<': new Map(), '>': new Map() }
function look(side) {
  const other = side === '<' ? '>' : '<'
  return message => {
    if (message.method !== undefined) {
      if (message.id !== undefined) asked[side].set(message.id, message.method)
      check(message.method, message.id === undefined ? 'Notification' : 'Request', message.params)
    } else if (message.result !== undefined) check(asked[other].get(message.id), 'Response', message.result)
  }
}

const buffers = { [path.resolve('note.txt')]: 'hello there\ntyped\n' }
let choice = 'allow_once'
let text = ''
let stop = () => {}
let stderr = ''

async function start() {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] })
  child.stderr.on('data', data => { stderr += data })
  const exited = new Promise(done => child.once('exit', done))
  const fromAgent = tap(look('<'))
  const toAgent = tap(look('>'))
  Readable.toWeb(child.stdout).pipeThrough(fromAgent)
  toAgent.readable.pipeTo(Writable.toWeb(child.stdin)).catch(() => {})
  const { methods } = acp
  const connection = acp
    .client({ name: 'story' })
    .onNotification(methods.client.session.update, ({ params: { update } }) => {
      if (update.sessionUpdate === 'agent_message_chunk') text += update.content.text
      if (text.endsWith('Working')) stop()
    })
    .onRequest(methods.client.session.requestPermission, ({ params }) => {
      const option = params.options.find(it => it.kind === choice)
      return { outcome: { outcome: 'selected', optionId: option.optionId } }
    })
    .onRequest(methods.client.fs.readTextFile, ({ params }) => {
      if (buffers[params.path] !== undefined) return { content: buffers[params.path] }
      return { content: fs.readFileSync(params.path, 'utf8') }
    })
    .onRequest(methods.client.fs.writeTextFile, ({ params }) => {
      if (buffers[params.path] !== undefined) buffers[params.path] = params.content
      fs.writeFileSync(params.path, params.content)
      return {}
    })
    .connect(acp.ndJsonStream(toAgent.writable, fromAgent.readable))
  const agent = connection.agent
  await agent.request(methods.agent.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientCapabilities: { fs: { readTextFile: true, writeTextFile: true } },
  })
  stop = () => { agent.notify(methods.agent.session.cancel, { sessionId }) }
  return {
    ask: (method, params) => agent.request(method, params),
    async prompt(words) {
      const answer = await agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text: words }] })
      return answer.stopReason
    },
    async end() {
      child.stdin.end()
      return exited
    },
  }
}

const { session } = acp.methods.agent
const cwd = process.cwd()
const seen = { stops: [], ends: [] }
let sessionId
let client = await start()
;({ sessionId } = await client.ask(session.new, { cwd, mcpServers: [] }))
seen.stops.push(await client.prompt('edit'))
seen.buffer = buffers[path.resolve('note.txt')]
choice = 'reject_once'
seen.stops.push(await client.prompt('deny'))
choice = 'allow_once'
seen.stops.push(await client.prompt('run'))
seen.stops.push(await client.prompt('stop'))
seen.ends.push(await client.end())
client = await start()
text = ''
await client.ask(session.load, { sessionId, cwd, mcpServers: [] })
seen.loaded = text
text = ''
seen.stops.push(await client.prompt('back'))
seen.back = text
seen.ends.push(await client.end())
client = await start()
text = ''
await client.ask(session.resume, { sessionId, cwd, mcpServers: [] })
seen.resumed = text
seen.stops.push(await client.prompt('again'))
seen.again = text
seen.ends.push(await client.end())
console.log(`STORY ${JSON.stringify({ ...seen, problems, checked, stderr })}`)
process.exit(0)
