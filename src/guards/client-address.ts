// The network address of a client, which identifies it if it sends no API key.
import { isIP, isIPv6 } from 'node:net';
import type { Sender } from '../http/exchange.ts';

/** Some proxies append a port, and put an IPv6 address in brackets. */
const WITH_PORT = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/;

/** Returns the address of a client, with `trustProxy` the last one in `x-forwarded-for`. */
export function addressOf({ headers, socket }: Sender, trustProxy: boolean): string {
  const forwarded = trustProxy ? lastAddress(headers['x-forwarded-for']) : undefined;
  // A Unix socket has no address, nor has a client that has gone (RFC 7239, section 6.2).
  const address = forwarded ?? socket.remoteAddress ?? 'unknown';
  // A socket for both versions shows an IPv4 address as `::ffff:192.0.2.1`.
  return address.replace(/^::ffff:(?=[\d.]+$)/i, '');
}

function lastAddress(list: string | string[] | undefined): string | undefined {
  const text = String(list ?? '');
  const last = text.slice(text.lastIndexOf(',') + 1).trim();
  const address = last.replace(WITH_PORT, '$1$2');
  return isIP(address) === 0 ? undefined : address.replace(/%.*/, '');
}

/** Returns the IPv4 address or the IPv6 /64 network of a client, as {@link addressOf} finds it. */
export function clientNetwork(sender: Sender, trustProxy: boolean): string {
  const address = addressOf(sender, trustProxy);
  // A copy, because a substring would keep the whole header in memory.
  if (!isIPv6(address)) return address.split('.').join('.');
  // The URL parser normalizes the address, but accepts no zone (%eth0).
  const canonical = new URL(`http://[${address.replace(/%.*/, '')}]`).hostname.slice(1, -1);
  const groupsIn = (text: string) => text.split(':').filter((group) => group !== '');
  const zeros = '0:'.repeat(8 - groupsIn(canonical).length);
  const groups = groupsIn(canonical.replace('::', `:${zeros}`));
  // One client usually controls an entire /64 network.
  return `${groups.slice(0, 4).join(':')}::/64`;
}
