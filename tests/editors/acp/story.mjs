// Runs a whole session of the official TypeScript client, and checks every message of both sides against the schema of that
// package. `node story.mjs RIG COMMAND...` prints the result as one line of JSON.
import fs from 'node:fs'
import path from 'node:path'

import { load } from './checked_client.mjs'

const { acp, told, start: startAgent } = await load('v1')
const buffers = { [path.resolve('note.txt')]: 'hello there\ntyped\n' }
let choice = 'allow_once'
let text = ''
let stop = () => {}
let stderr = ''

async function start() {
  const { child, exited, stream } = startAgent('pipe')
  child.stderr.on('data', data => { stderr += data })
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
    .connect(stream)
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
console.log(`STORY ${JSON.stringify({ ...seen, ...told, stderr })}`)
process.exit(0)
