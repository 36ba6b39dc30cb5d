// The upper limit: node:http with a constant answer; it reads, checks and stores nothing.
import { createServer } from 'node:http';

const NOTE = '{"id":1,"title":"a","body":"b"}';
const HEADERS = ['content-type', 'application/json', 'content-length', String(NOTE.length)];

createServer((request, response) => {
  request.resume();
  request.once('end', () => {
    response.writeHead(request.method === 'POST' ? 201 : 200, HEADERS);
    response.end(NOTE);
  });
}).listen(Number(process.argv[2]), '127.0.0.1');
