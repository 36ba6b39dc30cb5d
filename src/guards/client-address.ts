// Identifies a client without a key by its network address.
import type { IncomingMessage } from 'node:http';
import { isIP, isIPv6 } from 'node:net';

/**
 * The groups of an IPv6 address, and those of its /64 network, all of whose addresses one client
 * may have.
 */
const GROUPS = 8;
const NETWORK_GROUPS = 4;

/** Some proxies add the port, and then brackets around an IPv6 address. */
const WITH_PORT = /^(?:\[(?<bracketed>[^\]]+)\](?::\d+)?|(?<plain>[\d.]+):\d+)$/;

const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/**
 * Returns the IPv4 address or the IPv6 /64 network of a client. With `trustProxy` it is the last
 * address in `x-forwarded-for`, which the proxy has added; the client can send any addresses before
 * it.
 */
export function clientAddress({ headers, socket }: IncomingMessage, trustProxy: boolean): string {
  const forwarded = trustProxy ? lastAddress(headers['x-forwarded-for']) : undefined;
  return networkOf(forwarded ?? socket.remoteAddress ?? '');
}

function lastAddress(list: string | string[] | undefined): string | undefined {
  const last = String(list ?? '')
    .split(',')
    .at(-1)
    ?.trim();
  const { bracketed, plain = bracketed ?? last } = WITH_PORT.exec(last ?? '')?.groups ?? {};
  return plain && isIP(plain) !== 0 ? plain : undefined;
}

function networkOf(address: string): string {
  const ipv4 = MAPPED.exec(address)?.[1] ?? address;
  if (!isIPv6(ipv4)) return copyOf(ipv4);
  // A URL has one form for each address; it allows no zone.
  const canonical = new URL(`http://[${address.replace(/%.*/, '')}]`).hostname.slice(1, -1);
  const [left = [], right = []] = canonical
    .split('::')
    .map((part) => (part === '' ? [] : part.split(':')));
  const zeros = Array<string>(GROUPS - left.length - right.length).fill('0');
  return `${[...left, ...zeros, ...right].slice(0, NETWORK_GROUPS).join(':')}::/64`;
}

/** A substring would keep the whole header in memory as long as the client is remembered. */
function copyOf(address: string): string {
  return address.split('.').join('.');
}
