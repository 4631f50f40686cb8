import type { ConnectionSettings } from '../inventory.ts';

/** The machine that the tests run on. */
export const thisMachine: ConnectionSettings = {
  type: 'local',
  address: 'localhost',
  port: undefined,
  user: undefined,
  hostKeys: [],
  identityFile: undefined,
  knownHostsFile: undefined,
  jump: [],
  client: undefined,
  becomePassword: undefined,
};
