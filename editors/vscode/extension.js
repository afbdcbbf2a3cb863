// Starts `tidelog lsp` for programs, and stops it with the editor. All that the extension knows of the language beyond its
// colours, it asks this server.
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

async function activate() {
  const [command, ...args] = vscode.workspace.getConfiguration("tidelog").get("command");
  client = new LanguageClient(
    "tidelog",
    "tidelog",
    { command, args },
    { documentSelector: [{ scheme: "file", language: "tide" }] }
  );
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    vscode.window.showErrorMessage(
      `tidelog: cannot start \`${command}\`: ${error.message}. Install it with pip install 'tidelog[lsp]', or set tidelog.command.`
    );
  }
}

async function deactivate() {
  await client?.stop();
}

module.exports = { activate, deactivate };
