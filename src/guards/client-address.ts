// The network address of a client, which identifies it if it has no key.
import { isIP, isIPv6 } from 'node:net';
import type { Sender } from '../http/route.ts';

const IPV6_GROUPS = 8;
/** One client may have all addresses of a /64 network. */
const NETWORK_GROUPS = 4;

/** Some proxies add a port, and brackets around an IPv6 address. */
const WITH_PORT = /^(?:\[(?<bracketed>[^\]]+)\](?::\d+)?|(?<plain>[\d.]+):\d+)$/;

const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** Returns the IPv4 address or the IPv6 /64 network of a client, as {@link addressOf} finds it. */
export function clientAddress(sender: Sender, trustProxy: boolean): string {
  return networkOf(addressOf(sender, trustProxy));
}

/**
 * Returns the address of a client; empty if it is unknown. With `trustProxy`, it is the last one in
 * `x-forwarded-for`: the proxy has added it, while the client can forge the others.
 */
export function addressOf({ headers, socket }: Sender, trustProxy: boolean): string {
  const forwarded = trustProxy ? lastAddress(headers['x-forwarded-for']) : undefined;
  const address = forwarded ?? socket.remoteAddress ?? '';
  return MAPPED.exec(address)?.[1] ?? address;
}

function lastAddress(list: string | string[] | undefined): string | undefined {
  const text = String(list ?? '');
  const last = text.slice(text.lastIndexOf(',') + 1).trim();
  const { bracketed, plain = bracketed ?? last } = WITH_PORT.exec(last)?.groups ?? {};
  return isIP(plain) === 0 ? undefined : plain.replace(/%.*/, '');
}

function networkOf(address: string): string {
  if (!isIPv6(address)) return copyOf(address);
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
