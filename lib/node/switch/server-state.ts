import { readFileSync } from 'node:fs';
import type { Reader } from '../../engine/host/host.ts';
import { dataFolder } from '../variables/data-folders.ts';
import type { Variables } from '../variables/variables.ts';

const script = readFileSync(new URL('../../../templates/host/server-state.sh', import.meta.url), 'utf8');

/** A data directory with a server. */
export interface WithData {
  /** Whether the server accepts writes when it runs. */
  readonly kind: 'primary' | 'standby';
  /** Whether it has ended cleanly. */
  readonly isClean: boolean;
  /** Its newest checkpoint, in bytes of its log. */
  readonly checkpoint: number;
}

/** What the data directory of a host's state-db says. */
type ServerState =
  | WithData
  | { readonly kind: 'none' }
  | {
      readonly kind: 'unreadable';
      readonly why: string;
    };

/** Reads the data directory of a host's state-db, whether the server runs or not. */
export async function serverState(host: Reader, vars: Pick<Variables, 'paths'>): Promise<ServerState> {
  const answer = await host.$`sh -c ${script} server-state ${dataFolder(vars, 'state-db')}`;
  if (!answer.ok) return { kind: 'unreadable', why: answer.stderr.trim() };
  const [kind = '', state, checkpoint] = answer.text().split(' ');
  if (kind === 'none') return { kind };
  const isClean = state === '1' || state === '2';
  return { kind: kind === 'standby' ? 'standby' : 'primary', isClean, checkpoint: Number(checkpoint) };
}
