// Plays a session of the official client for the preview of version 2, and checks every message of both sides against the
// draft schema of that package. `node preview.mjs RIG COMMAND...` prints the result as one line of JSON.
import { load } from './checked_client.mjs'

const { acp, told, start } = await load('v2')
const seen = { updates: [], states: [], stops: [], text: '' }
let choice = 'allow_once'
let idle = () => {}
let stop = () => {}

const { child, exited, stream } = start('inherit')
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
  .connect(stream)
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
console.log(`STORY ${JSON.stringify({ ...seen, updates: [...new Set(seen.updates)], protocolVersion, ...told, end })}`)
process.exit(0)
