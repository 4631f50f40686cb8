import toml from '@iarna/toml';
import { Problem } from '../../engine/problem/problem.ts';

/** Where the prover listens inside its container. @throws Problem where a port is missing or is none, which names the file */
export function proverPortsIn(config: string, file: string): { readonly hashDb: number; readonly executor: number } {
  const port = portsOf(JSON.parse(config), file);
  return { hashDb: port('hashDBServerPort'), executor: port('executorServerPort') };
}

/** Where the node does, likewise. */
export function nodePortsIn(
  config: string,
  file: string,
): { readonly rpc: number; readonly webSocket: number; readonly metrics: number } {
  const port = portsOf(toml.parse(config), file);
  return { rpc: port('RPC.Port'), webSocket: port('RPC.WebSockets.Port'), metrics: port('Metrics.Port') };
}

function portsOf(config: unknown, file: string): (key: string) => number {
  return (key) => {
    const value = key
      .split('.')
      .reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined | null)?.[name], config);
    if (value === undefined) throw new Problem(`${key} is missing in ${file}`);
    if (Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 65_535) return Number(value);
    throw new Problem(`${key} must be a port, a whole number from 1 to 65535, in ${file}`);
  };
}
