// The bound of open connections: a new one takes the place of one that asks for nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mendRawPath } from '../../../src/names/raw-paths.ts';
import { createGate, startBareServer, textRoute } from '../../support/bare-server.ts';
import { type Conversation, converse, exchangeLast, requestText } from '../../support/raw.ts';
import { until } from '../../support/until.ts';

const LENGTH = 'content-length: 100';
const quick = textRoute('GET', '/quick', () => 'quick');
const echo = textRoute('POST', '/echo', () => 'echo');

/** What a connection has sent, and the number of its answers, if it asks for nothing. */
const IDLE: Readonly<Record<string, readonly [sent: string, answers: number]>> = {
  nothing: ['', 0],
  'half a head': ['GET /quick HTTP/1.1\r\nho', 0],
  'half a body': [`${requestText('POST /echo', [LENGTH])}{`, 0],
  'half a chunk': [`${requestText('POST /echo', ['transfer-encoding: chunked'])}5\r\nhe`, 0],
  'half a body that is ignored': [`${requestText('GET /slow', [LENGTH])}{`, 0],
  'a body that was refused': [`${requestText('POST /quick', [LENGTH])}{`, 1],
  'an answered request': [requestText('GET /quick'), 1],
  'another half a head': [`${requestText('GET /quick')}GET /qu`, 1],
  'another half a body': [`${requestText('GET /quick')}${requestText('POST /echo', [LENGTH])}`, 1],
};

/** What a connection has sent whose answer is on its way. */
const BUSY: Readonly<Record<string, string>> = {
  'a request': requestText('GET /slow'),
  'a request and half a head': `${requestText('GET /slow')}GET /qu`,
  'a request and half a body': requestText('GET /slow') + requestText('POST /echo', [LENGTH]),
  'two requests': requestText('GET /slow').repeat(2),
};

for (const [name, [sent, answers]] of Object.entries(IDLE))
  test(`replaced connections: one with ${name}`, async (t) => {
    const gate = createGate();
    const slow = textRoute('GET', '/slow', () => gate.passed.then(() => 'slow'));
    const server = await startBareServer(t, [quick, echo, slow], { connections: 2 });
    const idle = await converse(server, sent);
    for (let count = 0; count < answers; count += 1) await idle.answer();
    // Others have an answer, so that everything has arrived.
    assert.equal((await exchangeLast(server, 'GET /quick')).body, 'quick');
    const busy = await converse(server, requestText('GET /slow'));
    assert.equal((await exchangeLast(server, 'GET /quick')).body, 'quick');
    await idle.closed();
    gate.open();
    assert.equal((await busy.answer()).body, 'slow');
    busy.socket.destroy();
  });

for (const [name, sent] of Object.entries(BUSY))
  test(`replaced connections: not one with ${name}`, async (t) => {
    const gate = createGate();
    let begun = 0;
    const slow = textRoute('GET', '/slow', async () => {
      begun += 1;
      await gate.passed;
      return 'slow';
    });
    const server = await startBareServer(t, [quick, echo, slow], { connections: 2 });
    const busy: Conversation[] = [];
    for (let count = 0; count < 2; count += 1) busy.push(await converse(server, sent));
    await until(() => begun === 2);
    const refused = await converse(server, requestText('GET /quick'));
    await assert.rejects(refused.answer(), /the connection ended|ECONNRESET/);
    gate.open();
    for (const { answer, socket } of busy) {
      assert.equal((await answer()).body, 'slow');
      socket.destroy();
    }
  });

test('replaced connections: of the address with most, the one that waits longest', async (t) => {
  const server = await startBareServer(t, [quick], { connections: 5 });
  const from = (host: number) => ({ port: server.port, localAddress: `127.0.0.${host}` });
  const opened: Conversation[] = [];
  for (const host of [2, 3, 3, 3, 2]) {
    const conversation = await converse(from(host), requestText('GET /quick'));
    await conversation.answer();
    opened.push(conversation);
  }
  const [first, second, third, fourth, fifth] = opened;
  const ask = async (each: Conversation | undefined) => {
    each?.socket.write(requestText('GET /quick'));
    assert.equal((await each?.answer())?.body, 'quick');
  };
  // It has waited for less time than the third.
  await ask(second);
  const added = await converse(from(4));
  await ask(added);
  await third?.closed();
  // Now two addresses have two.
  await ask(first);
  const last = await converse(from(4));
  await ask(last);
  await fourth?.closed();
  for (const each of [first, second, fifth, added, last]) {
    await ask(each);
    each?.socket.destroy();
  }
});

test('replaced connections: none by one that goes on behind a raw name', async (t) => {
  const named = textRoute('GET', '/named/{name}', ({ pathValues }) => `${pathValues}`);
  const server = await startBareServer(t, [quick, named], { connections: 2 }, mendRawPath);
  const idle = await converse(server);
  const raw = await converse(server);
  for (const each of [idle, raw, idle]) {
    each.socket.write(requestText(each === raw ? 'GET /named/ü' : 'GET /quick'));
    assert.equal((await each.answer()).body, each === raw ? 'ü' : 'quick');
  }
  for (const { socket } of [idle, raw]) socket.destroy();
});
