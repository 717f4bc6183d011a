// A plugin-free editor made of Microsoft's protocol library: asks in a chat document, allows each request, keeps a hunk.
// node lsp_story.mjs RIG PROJECT COMMAND... prints every message that the server sent, and the chat, as one line of JSON.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

const [rig, project, command, ...args] = process.argv.slice(2)
const lsp = createRequire(path.join(path.resolve(rig), 'package.json'))('vscode-languageserver-protocol/node')
const uriOf = (name) => pathToFileURL(path.join(project, name)).href
const [chat, file] = [uriOf('chat.agent.md'), uriOf('a.txt')]

const received = []
const asked = new Map()
class Recorder extends lsp.StreamMessageReader {
  listen(callback) {
    return super.listen((message) => {
      if (message.method) received.push({ method: message.method, params: message.params })
      else received.push({ method: asked.get(message.id), result: message.result, error: message.error })
      callback(message)
    })
  }
}
class Sender extends lsp.StreamMessageWriter {
  write(message) {
    if (message.id !== undefined && message.method) asked.set(message.id, message.method)
    return super.write(message)
  }
}

const server = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
const connection = lsp.createProtocolConnection(new Recorder(server.stdout), new Sender(server.stdin))
const documents = new Map()
const waiting = []
function changed() {
  for (const waiter of [...waiting]) if (waiter.test()) waiting.splice(waiting.indexOf(waiter), 1)[0].done()
}
const until = (test) =>
  test() ? undefined : new Promise((done) => { waiting.push({ test, done }) })

function open(uri, languageId, text) {
  documents.set(uri, { text, version: 1 })
  connection.sendNotification(lsp.DidOpenTextDocumentNotification.type, {
    textDocument: { uri, languageId, version: 1, text },
  })
}
function offset(text, position) {
  const lines = text.split('\n')
  return lines.slice(0, position.line).reduce((sum, line) => sum + line.length + 1, 0) + position.character
}
function edit(uri, edits) {
  const document = documents.get(uri)
  let text = document.text
  const places = edits.map((one) => [offset(text, one.range.start), offset(text, one.range.end), one.newText])
  for (const [start, end, newText] of places.sort((a, b) => b[0] - a[0]))
    text = text.slice(0, start) + newText + text.slice(end)
  documents.set(uri, { text, version: document.version + 1 })
  connection.sendNotification(lsp.DidChangeTextDocumentNotification.type, {
    textDocument: { uri, version: document.version + 1 },
    contentChanges: [{ text }],
  })
  changed()
}
function save(uri) {
  fs.writeFileSync(new URL(uri), documents.get(uri).text)
  connection.sendNotification(lsp.DidSaveTextDocumentNotification.type, { textDocument: { uri } })
}

const diagnostics = new Map()
connection.onNotification(lsp.PublishDiagnosticsNotification.type, (params) => {
  diagnostics.set(params.uri, params.diagnostics)
  changed()
})
connection.onRequest(lsp.ShowMessageRequest.type, (params) => params.actions?.find((it) => /^Allow once/.test(it.title)) ?? null)
connection.onRequest(lsp.WorkDoneProgressCreateRequest.type, () => null)
connection.onRequest(lsp.RegistrationRequest.type, () => null)
connection.onRequest(lsp.CodeLensRefreshRequest.type, () => null)
connection.onRequest(lsp.ConfigurationRequest.type, (params) => params.items.map(() => null))
connection.onRequest(lsp.ApplyWorkspaceEditRequest.type, (params) => {
  for (const change of params.edit.documentChanges) {
    const { uri, version } = change.textDocument
    if (version !== null && version !== documents.get(uri)?.version) return { applied: false, failureReason: 'stale' }
    edit(uri, change.edits)
  }
  return { applied: true }
})
connection.listen()

await connection.sendRequest(lsp.InitializeRequest.type, {
  processId: process.pid,
  clientInfo: { name: 'independent client' },
  rootUri: pathToFileURL(project).href,
  workspaceFolders: [{ uri: pathToFileURL(project).href, name: 'project' }],
  initializationOptions: { agentLs: { provider: 'anthropic', mode: 'ask' } },
  capabilities: {
    window: { workDoneProgress: true, showMessage: { messageActionItem: { additionalPropertiesSupport: true } } },
    workspace: {
      applyEdit: true,
      configuration: true,
      codeLens: { refreshSupport: true },
      workspaceEdit: { documentChanges: true },
      didChangeWatchedFiles: { dynamicRegistration: true },
    },
    textDocument: {
      synchronization: { didSave: true },
      publishDiagnostics: { relatedInformation: true, versionSupport: true },
      codeAction: { codeActionLiteralSupport: { codeActionKind: { valueSet: ['quickfix'] } } },
      codeLens: {},
      completion: {},
    },
  },
})
connection.sendNotification(lsp.InitializedNotification.type, {})

open(file, 'plaintext', fs.readFileSync(new URL(file), 'utf8'))
fs.writeFileSync(new URL(chat), '')
open(chat, 'markdown', '')
edit(chat, [{ range: { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } }, newText: 'Change it.\n' }])
save(chat)
await until(() => documents.get(chat).text.includes('All done.') && documents.get(chat).text.endsWith('## you\n\n'))
await until(() => diagnostics.get(file)?.length)
const [mark] = diagnostics.get(file)
const context = { diagnostics: [mark], only: ['quickfix'] }
const textDocument = { uri: file }
const actions = await connection.sendRequest(lsp.CodeActionRequest.type, { textDocument, range: mark.range, context })
await connection.sendRequest(lsp.CodeLensRequest.type, { textDocument })
const keep = actions.find((action) => action.title.startsWith('Keep this change'))
await connection.sendRequest(lsp.ExecuteCommandRequest.type, keep.command)
await until(() => diagnostics.get(file).length === 0)
await connection.sendRequest(lsp.ShutdownRequest.type)
await connection.sendNotification(lsp.ExitNotification.type)
const code = await new Promise((done) => { server.exitCode === null ? server.on('exit', done) : done(server.exitCode) })
console.log(JSON.stringify({ received, chat: documents.get(chat).text, file: documents.get(file).text, code }))
