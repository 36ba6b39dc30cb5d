// Identifies a client without a key by its network address.
import type { IncomingMessage } from 'node:http';
import { isIP, isIPv6 } from 'node:net';

const IPV6_GROUPS = 8;
/** One client may have all addresses of a /64 network. */
const NETWORK_GROUPS = 4;

/** Some proxies add a port, and brackets around an IPv6 address. */
const WITH_PORT = /^(?:\[(?<bracketed>[^\]]+)\](?::\d+)?|(?<plain>[\d.]+):\d+)$/;

const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** A client on a Unix socket, or one that has gone (RFC 7239, section 6.2). */
const UNKNOWN = 'unknown';

/**
 * Returns the IPv4 address or the IPv6 /64 network of a client. With `trustProxy`, it uses the last
 * address in `x-forwarded-for`: the proxy has added it, while the client can forge the others.
 */
export function clientAddress({ headers, socket }: IncomingMessage, trustProxy: boolean): string {
  const forwarded = trustProxy ? lastAddress(headers['x-forwarded-for']) : undefined;
  return networkOf(forwarded ?? socket.remoteAddress ?? UNKNOWN);
}

function lastAddress(list: string | string[] | undefined): string | undefined {
  const text = String(list ?? '');
  const last = text.slice(text.lastIndexOf(',') + 1).trim();
  const { bracketed, plain = bracketed ?? last } = WITH_PORT.exec(last)?.groups ?? {};
  return isIP(plain) === 0 ? undefined : plain;
}

function networkOf(address: string): string {
  const ipv4 = MAPPED.exec(address)?.[1] ?? address;
  if (!isIPv6(ipv4)) return copyOf(ipv4);
  // A URL normalizes an address; it allows no zone.
  const canonical = new URL(`http://[${address.replace(/%.*/, '')}]`).hostname.slice(1, -1);
  const [left = [], right = []] = canonical
    .split('::')
    .map((part) => (part === '' ? [] : part.split(':')));
  const zeros = Array<string>(IPV6_GROUPS - left.length - right.length).fill('0');
  return `${[...left, ...zeros, ...right].slice(0, NETWORK_GROUPS).join(':')}::/64`;
}

/** Copies an address: a substring would keep the whole header in memory with it. */
function copyOf(address: string): string {
  return address.split('.').join('.');
}
