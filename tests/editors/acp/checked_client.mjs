// The official TypeScript client of the arguments `RIG COMMAND...`, in a version of the protocol, whose messages of both
// sides are checked against the schema of its package.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { Readable, Writable } from 'node:stream'
import { pathToFileURL } from 'node:url'

const [rig, command, ...args] = process.argv.slice(2)
const sdk = path.join(rig, 'node_modules/@agentclientprotocol/sdk')

/** Returns the library `acp` of a version (`v1`), the checks so far, and `start`, which starts the agent. */
export async function load(version) {
  const acp = await import(pathToFileURL(path.join(sdk, `dist/${version}/stable/acp.js`)))
  const { default: Ajv } = createRequire(path.join(rig, 'package.json'))('ajv/dist/2020.js')

  const schema = JSON.parse(fs.readFileSync(path.join(sdk, `schema/${version}/schema.json`), 'utf8'))
  const ajv = new Ajv({ strict: false, validateFormats: false }).addSchema(schema, 'acp')
  const kinds = {}
  for (const [name, type] of Object.entries(schema.$defs)) {
    const kind = /(Request|Response|Notification)$/.exec(name)?.[1]
    if (type['x-method'] && kind) (kinds[type['x-method']] ??= {})[kind] = name
  }
  const told = { problems: [], checked: 0 }
  function check(method, kind, value) {
    if (method === undefined || method.startsWith('_')) return
    const name = kinds[method]?.[kind]
    if (!name) return told.problems.push(`${method}: no ${kind} of the protocol`)
    told.checked += 1
    const validate = ajv.getSchema(`acp#/$defs/${name}`)
    if (!validate(value ?? {})) told.problems.push(`${method} ${kind}: ${ajv.errorsText(validate.errors)}`)
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

  /** Starts the agent. `stream` is what a client connects to, `exited` the exit code to come. */
  function start(stderr) {
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', stderr] })
    const exited = new Promise(done => child.once('exit', done))
    const fromAgent = tap(look('<'))
    const toAgent = tap(look('>'))
    Readable.toWeb(child.stdout).pipeThrough(fromAgent)
    toAgent.readable.pipeTo(Writable.toWeb(child.stdin)).catch(() => {})
    return { child, exited, stream: acp.ndJsonStream(toAgent.writable, fromAgent.readable) }
  }

  return { acp, told, start }
}
