// SPDX-License-Identifier: Apache-2.0
// An MCP server with one tool, ask_stdio or ask_http, which answers with a word that is nowhere else.
//
//     node mcp.mjs stdio WORD LOG           on its standard input and output
//     node mcp.mjs http WORD LOG PORT       at http://127.0.0.1:PORT/mcp (streamable HTTP)
//
// LOG gets a line for each method that a client calls, and the arguments of each call of the tool.
import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';

const [way, word, log, port] = process.argv.slice(2);
const name = `ask_${way}`;

// Returns the answer to one message of JSON-RPC; nothing to a notification.
function answer({ id, method, params }) {
    const call = method === 'tools/call';
    appendFileSync(log, `${way} ${method}${call ? ` ${params.name} ${JSON.stringify(params.arguments)}` : ''}\n`);
    if (id === undefined)
        return null;
    const of = {
        initialize: () => ({
            protocolVersion: params.protocolVersion,
            capabilities: { tools: {} },
            serverInfo: { name: way, version: '1' },
        }),
        ping: () => ({}),
        'tools/list': () => ({
            tools: [{
                name, description: 'Asks the server.',
                inputSchema: { type: 'object', properties: { what: { type: 'string' } }, required: ['what'] },
            }],
        }),
        'tools/call': () => ({ content: [{ type: 'text', text: `${way} says ${word}` }] }),
    };
    const known = of[method];
    return known ? { jsonrpc: '2.0', id, result: known() }
        : { jsonrpc: '2.0', id, error: { code: -32601, message: `no ${method} here` } };
}

function serve(request, response) {
    if (request.method !== 'POST') {
        response.writeHead(405).end();
        return;
    }
    let text = '';
    request.on('data', (part) => { text += part; });
    request.on('end', () => {
        const said = answer(JSON.parse(text));
        if (said)
            response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(said));
        else
            response.writeHead(202).end();
    });
}

if (way === 'http') {
    createServer(serve).listen(Number(port), '127.0.0.1', () => console.log('listening'));
} else {
    createInterface({ input: process.stdin }).on('line', (line) => {
        const said = answer(JSON.parse(line));
        if (said)
            process.stdout.write(`${JSON.stringify(said)}\n`);
    });
}
