// The parts that a playbook imports: plays, roles by name, turns of RPC hosts behind gateways, and
// its command line.
import { readdirSync, readFileSync } from 'node:fs';
import { commandLine } from './command-line.mjs';
import { program, role } from './program.mjs';

/** @type {typeof import('../commands/playbook/main.ts')} */
const node = await program('lib/commands/playbook/main.ts');

export const { play, playbook, rolling, serverRoles, serviceNames } = node;

/**
 * The roles of these names, from roles/NAME.ts.
 *
 * @param {string[]} names
 * @returns
 * {Promise<import('../engine/resource/role.ts').Role<import('../node/variables/variables.ts').Variables>[]>}
 */
export async function roles(...names) {
  return Promise.all(names.map(role));
}

/**
 * Runs a playbook with the options of the command line.
 *
 * @param
 * {import('../engine/run/playbook.ts').Playbook<import('../node/variables/variables.ts').Variables>}
 * playbook
 * @param
 * {import('../engine/run/playbook.ts').Play<import('../node/variables/variables.ts').Variables>[]}
 * [putBack] plays that put RPC servers back, with `gateway.rollback: auto`
 */
export async function runPlaybook(playbook, putBack = []) {
  if (described) described[playbook.name] = playbook.options;
  else await node.runOrPutBack(playbook, putBack, commandLine, dependencies);
}

/**
 * Runs a playbook on the hosts as one of their releases has them.
 *
 * @param
 * {import('../engine/run/playbook.ts').Playbook<import('../node/variables/variables.ts').Variables>}
 * playbook
 */
export async function runRollback(playbook) {
  if (described) described[playbook.name] = node.rollbackOptions;
  else await node.rollback(playbook, commandLine, dependencies);
}

/** Puts a timer for check mode on this machine. */
export async function runSchedule() {
  if (described) described.schedule = {};
  else await node.scheduleCheck(commandLine, dependencies);
}

// While it is set, a playbook only says here which options of its own it has.
/**
 * @type {Record<string, import('../engine/run/playbook.ts').Playbook<unknown>['options']> |
 * undefined}
 */
let described;

/**
 * The options of our playbooks beside those of every run, by the playbook's name. None of them
 * runs afterwards.
 */
export async function ownOptions() {
  described = {};
  const folder = new URL('../../playbooks/', import.meta.url);
  const names = readdirSync(folder).filter((name) => name.endsWith('.mjs'));
  for (const file of names.map((name) => new URL(name, folder))) {
    // Another one is a command, which would run.
    if (/^import .*\/playbook\.mjs'/m.test(readFileSync(file, 'utf8'))) await import(file.href);
  }
  return described;
}

const dependencies = {
  load: node.loadDeployment,
  open: node.openSession,
  embedded: 'lab',
  larger: 'lab-fleet',
  prepareEmbedded: bringLabUp,
};

/**
 * @param {(line: string) => void} say
 * @param {boolean} [fleet] whether all hosts of the larger lab are needed
 * @throws {Problem} why the lab cannot start
 */
async function bringLabUp(say, fleet = false) {
  const [{ labUp }, { LabError }] = await Promise.all([
    import('../../lab/up.mjs'),
    import('../../lab/lab-error.mjs'),
  ]);
  try {
    await labUp({ log: say, fleet });
  } catch (error) {
    throw error instanceof LabError ? new node.Problem(error.message, { hint: error.hint }) : error;
  }
}
