// Plays a session of the official client for the preview of version 2, and checks every message of both sides against the
// draft schema of that package. `node preview.mjs RIG COMMAND...` prints the result as one line of JSON.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { Readable, Writable } from 'node:stream'
import { pathToFileURL } from 'node:url'

const [rig, command, ...args] = process.argv.slice(2)
const sdk = path.join(rig, 'node_modules/@agentclientprotocol/sdk')
const acp = await import(pathToFileURL(path.join(sdk, 'dist/v2/stable/acp.js')))
const { default: Ajv } = createRequire(path.join(rig, 'package.json'))('ajv/dist/2020.js')

const schema = JSON.parse(fs.readFileSync(path.join(sdk, 'schema/v2/schema.json'), 'utf8'))
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

const seen = { updates: [], states: [], stops: [], text: '' }
let choice = 'allow_once'
let idle = () => {}
let stop = () => {}

const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
const exited = new Promise(done => child.once('exit', done))
const fromAgent = tap(look('<'))
const toAgent = tap(look('>'))
Readable.toWeb(child.stdout).pipeThrough(fromAgent)
toAgent.readable.pipeTo(Writable.toWeb(child.stdin)).catch(() => {})
const connection = acp
  .client({ name: 'preview' })
  .onNotification('session/update', ({ params: { update } }) => {
    seen.updates.push(update.sessionUpdate)
    if (update.sessionUpdate === 'agent_message_chunk') seen.text += update.content.text
    if (seen.text.endsWith('Working')) stop()
    if (update.sessionUpdate !== 'state_update') return
    seen.states.push(update.state)
    if (update.state === 'idle') {
      seen.stops.push(update.stopReason ?? '')
      idle()
    }
  })
  .onRequest('session/request_permission', ({ params }) => {
    const option = params.options.find(it => it.kind === choice)
    return { outcome: { outcome: 'selected', optionId: option.optionId } }
  })
  .connect(acp.ndJsonStream(toAgent.writable, fromAgent.readable))
const agent = connection.agent
const { protocolVersion } = await agent.request('initialize', { protocolVersion: 2, info: { name: 'preview', version: '1' }, capabilities: {} })
const { sessionId } = await agent.request('session/new', { cwd: process.cwd(), mcpServers: [] })
stop = () => { agent.notify('session/cancel', { sessionId }) }
async function prompt(words) {
  const ended = new Promise(done => { idle = done })
  await agent.request('session/prompt', { sessionId, prompt: [{ type: 'text', text: words }] })
  await ended
}
await prompt('edit it')
choice = 'reject_once'
await prompt('run it')
choice = 'allow_once'
await prompt('run the other')
await prompt('wait')
child.stdin.end()
const end = await exited
console.log(`STORY ${JSON.stringify({ ...seen, updates: [...new Set(seen.updates)], protocolVersion, problems, checked, end })}`)
process.exit(0)
