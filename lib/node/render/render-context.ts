import type { Context } from '../../engine/resource/role.ts';
import type { Variables } from '../variables/variables.ts';

/** The input of a host's files. */
export type RenderContext = Pick<Context<Variables>, 'host' | 'vars' | 'hosts' | 'release'>;
