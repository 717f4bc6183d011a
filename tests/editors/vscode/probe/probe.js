// Of the tests only: listens on the unix socket named by $RIG_PROBE_SOCKET and runs
// what the driver's wb.eval() sends, with the `vscode` API at hand.
const vscode = require('vscode');
const net = require('net');
const fs = require('fs');
const AsyncFunction = (async () => {}).constructor;

exports.activate = context => {
  const path = process.env.RIG_PROBE_SOCKET;
  if (!path) return;
  const server = net.createServer(socket => {
    let text = '';
    socket.setEncoding('utf8').on('error', () => {}).on('data', async chunk => {
      text += chunk;
      for (let end; (end = text.indexOf('\n')) >= 0;) {
        const call = JSON.parse(text.slice(0, end));
        text = text.slice(end + 1);
        let reply;
        try {
          const value = await new AsyncFunction('vscode', 'args', 'require', `return (${call.code})(vscode, ...args)`)(vscode, call.args, require);
          reply = { id: call.id, value };
        } catch (error) {
          reply = { id: call.id, error: String(error?.stack ?? error) };
        }
        socket.write(JSON.stringify(reply, (k, v) => v === undefined ? null : v) + '\n');
      }
    });
  });
  fs.rmSync(path, { force: true });
  server.listen(path);
  context.subscriptions.push({ dispose: () => server.close() });
};
