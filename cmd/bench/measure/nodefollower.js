// A program in a function's place: it follows the continuous feed of a database and copies the documents to another
// one, with _bulk_docs or with a PUT for each. settee bench runs it with node. It says that it is ready, takes its task
// as a line of JSON, says when the feed is open and what it has done in the end, and ends when its input does.
'use strict';
const http = require('http');
const readline = require('readline');

const say = message => process.stdout.write(JSON.stringify(message) + '\n');
const agent = new http.Agent({keepAlive: true, maxSockets: 2});

function fail(error) {
  say({error: String(error && error.message || error)});
  process.exit(1);
}

// send makes a request and gives the status and the text of its answer.
function send(task, method, path, body) {
  return new Promise((resolve, reject) => {
    const headers = {'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body)};
    if (task.auth) headers.Authorization = task.auth;
    const request = http.request({host: task.host, port: task.port, agent, method, path, headers}, response => {
      const parts = [];
      response.on('data', part => parts.push(part));
      response.on('end', () => resolve({status: response.statusCode, text: Buffer.concat(parts).toString()}));
      response.on('error', reject);
    });
    request.on('error', reject);
    request.end(body);
  });
}

// copy writes documents to the target.
async function copy(task, docs) {
  if (!task.target) return;
  if (task.alone) {
    for (const doc of docs) {
      const path = task.target + '/' + encodeURIComponent(doc._id);
      const {status, text} = await send(task, 'PUT', path, JSON.stringify(doc));
      if (status !== 201) throw new Error(`PUT: ${status} ${text}`);
    }
    return;
  }
  const {status, text} = await send(task, 'POST', task.target + '/_bulk_docs', JSON.stringify({docs}));
  if (status !== 201) throw new Error(`_bulk_docs: ${status} ${text}`);
  const stored = (text.match(/"ok":true/g) || []).length;
  if (stored !== docs.length) throw new Error(`${stored} of ${docs.length} documents were copied`);
}

function follow(task) {
  const ends = Date.now() + task.limit;
  const path = task.source + '/_changes?feed=continuous&include_docs=true&heartbeat=100';
  const headers = task.auth ? {Authorization: task.auth} : {};
  let waiting = [], rest = '', working = false, done = 0;
  http.get({host: task.host, port: task.port, path, headers}, response => {
    if (response.statusCode !== 200) fail(`_changes: ${response.statusCode}`);
    say({open: true});

    // work copies what waits, as much as has come, at most task.together documents at a time.
    async function work() {
      working = true;
      while (waiting.length > 0) {
        const docs = waiting.splice(0, task.together);
        await copy(task, docs);
        done += docs.length;
        if (task.count > 0 && (done >= task.count || Date.now() > ends)) {
          say({done});
          response.destroy();
          return;
        }
        if (waiting.length < task.together) response.resume();
      }
      working = false;
    }

    response.setEncoding('utf8');
    response.on('data', part => {
      const lines = (rest + part).split('\n');
      rest = lines.pop();
      for (const line of lines) {
        if (line === '') continue; // a heartbeat
        const change = JSON.parse(line);
        if (!change.doc || change.id.startsWith('_design/')) continue;
        delete change.doc._rev;
        waiting.push(change.doc);
      }
      if (waiting.length > 100 * task.together) response.pause();
      if (!working && waiting.length > 0) work().catch(fail);
    });
    response.on('error', fail);
  }).on('error', fail);
}

const input = readline.createInterface({input: process.stdin});
input.once('line', line => follow(JSON.parse(line)));
input.on('close', () => process.exit(0));
say({ready: true});
