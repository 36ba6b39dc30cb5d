// Who a client is when it has no key: where it comes from.
import type { IncomingMessage } from 'node:http';
import { isIP, isIPv6 } from 'node:net';

/** The groups of an IPv6 address, and those that name its /64 network: a client may have all addresses of one. */
const GROUPS = 8;
const NETWORK_GROUPS = 4;

const WITH_PORT = /^(?:\[(?<bracketed>[^\]]+)\](?::\d+)?|(?<plain>[\d.]+):\d+)$/;

const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/**
 * Returns the IPv4 address or the IPv6 /64 network that a request comes from. With `trustProxy` that is the last address
 * of `x-forwarded-for`, which the proxy has added itself: all before it is what the client says.
 */
export function clientAddress({ headers, socket }: IncomingMessage, trustProxy: boolean): string {
  const forwarded = trustProxy ? lastOf(headers['x-forwarded-for']) : undefined;
  return networkOf(forwarded ?? socket.remoteAddress ?? '');
}

function lastOf(list: string | string[] | undefined): string | undefined {
  const last = String(list ?? '')
    .split(',')
    .at(-1)
    ?.trim();
  // Some proxies add the port, and brackets then.
  const { bracketed, plain = bracketed ?? last } = WITH_PORT.exec(last ?? '')?.groups ?? {};
  return plain && isIP(plain) !== 0 ? plain : undefined;
}

function networkOf(address: string): string {
  const ipv4 = MAPPED.exec(address)?.[1] ?? address;
  // Written anew: a piece of a header would hold on to all of it for as long as the client is remembered.
  if (!isIPv6(ipv4)) return ipv4.split('.').join('.');
  // As URLs write it: one form for each address, without its zone.
  const canonical = new URL(`http://[${address.replace(/%.*/, '')}]`).hostname.slice(1, -1);
  const [left = [], right = []] = canonical.split('::').map((part) => (part === '' ? [] : part.split(':')));
  const zeros = Array<string>(GROUPS - left.length - right.length).fill('0');
  return `${[...left, ...zeros, ...right].slice(0, NETWORK_GROUPS).join(':')}::/64`;
}
