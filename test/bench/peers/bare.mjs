// The upper limit: node:http with a constant answer. It appends what POST and PUT send to a file,
// but does not wait for the disk; it checks nothing.
import { openSync, writeSync } from 'node:fs';
import { createServer } from 'node:http';

const NOTE = '{"id":1,"title":"a","body":"b"}';
const HEADERS = ['content-type', 'application/json', 'content-length', String(NOTE.length)];

const [port, path] = process.argv.slice(2);
const file = openSync(path, 'a');

createServer((request, response) => {
  const isCreation = request.method === 'POST';
  if (isCreation || request.method === 'PUT') request.on('data', (chunk) => writeSync(file, chunk));
  else request.resume();
  request.once('end', () => {
    response.writeHead(isCreation ? 201 : 200, HEADERS);
    response.end(NOTE);
  });
}).listen(Number(port), '127.0.0.1');
