// Which requests count as those of one client.
import assert from 'node:assert/strict';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { addressOf, clientNetwork } from '../../src/guards/client-address.ts';
import { heapMegabytes } from '../support/heap.ts';

function clientOf(
  remoteAddress: string | undefined,
  forwarded?: string | string[],
  trustProxy = false,
  clientAs = clientNetwork,
): string {
  const socket = new Socket();
  Object.defineProperty(socket, 'remoteAddress', { value: remoteAddress });
  const message = new IncomingMessage(socket);
  if (forwarded !== undefined) message.headers['x-forwarded-for'] = forwarded;
  return clientAs(message, trustProxy);
}

const NETWORKS: readonly (readonly [address: string, client: string])[] = [
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['::FFFF:192.0.2.1', '192.0.2.1'],
  ['::ffff:0:102:304', '0:0:0:0::/64'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::', '2001:db8:1:2::/64'],
  ['2001:db8:1:2:ffff::1', '2001:db8:1:2::/64'],
  ['2001:0DB8:0001:0002:0:0:0:6', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:db8::5:6:7:8', '2001:db8:0:0::/64'],
  ['2001::2:3:4:5:6:7', '2001:0:2:3::/64'],
  ['::1', '0:0:0:0::/64'],
  ['::', '0:0:0:0::/64'],
  ['1:2:3::', '1:2:3:0::/64'],
  ['::3:4:5:6:7:8', '0:0:3:4::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
];

test('client address: IPv4, or a /64 network of IPv6', () => {
  for (const [address, client] of NETWORKS) {
    assert.equal(clientOf(address), client, address);
    assert.equal(clientOf('192.0.2.9', `203.0.113.1, ${address.replace(/%.*/, '')}`, true), client);
  }
  // That of a closed connection or a Unix socket.
  assert.equal(clientOf(undefined), 'unknown');
});

const FORWARDED: Readonly<Record<string, readonly (string | string[] | undefined)[]>> = {
  '198.51.100.1': [
    ...['198.51.100.1', '203.0.113.7, 10.0.0.1,198.51.100.1 ', '203.0.113.7, 198.51.100.1:4711'],
    ['203.0.113.7', '198.51.100.1'],
  ],
  '2001:db8:1:2::/64': ['[2001:db8:1:2::3]:4711', '[2001:db8:1:2::3]', '2001:db8:1:2::3'],
  // Anything else is ignored.
  '192.0.2.1': [
    ...[undefined, '', ',', 'unknown', '198.51.100.1, unknown', '[::1', '::1]:80', '1.2.3.4:'],
    ...['1.2.3', 'a'.repeat(9_999)],
  ],
};

test('client address: the last of x-forwarded-for, if trusted', () => {
  for (const [client, headers] of Object.entries(FORWARDED))
    for (const forwarded of headers) {
      assert.equal(clientOf('192.0.2.1', forwarded, true), client, String(forwarded));
      assert.equal(clientOf('192.0.2.1', forwarded), '192.0.2.1');
    }
});

test('client address: a zone in x-forwarded-for does not reach the log', () => {
  for (const text of ['fe80::1%eth0', 'fe80::1%any-text', '[fe80::1%1]:80'])
    assert.equal(clientOf('192.0.2.1', text, true, addressOf), 'fe80::1', text);
});

test('client address: does not keep the header in memory', () => {
  const before = heapMegabytes();
  const clients = Array.from({ length: 5_000 }, (_, host) =>
    clientOf(
      '192.0.2.1',
      `${'x'.repeat(15_000)}${host}, 203.0.${113 + (host >> 8)}.${host & 255}`,
      true,
    ),
  );
  const grown = heapMegabytes() - before;
  assert.equal(clients.length, 5_000);
  assert.ok(grown < 8, `${grown} MB`);
});
