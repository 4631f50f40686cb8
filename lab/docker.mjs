import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { $ } from 'zx';
import { isAbandoned } from './abandoned.mjs';
import { LabError } from './lab-error.mjs';
import { inputsLabel, label, projectRoot } from './layout.mjs';

/** Runs a command, prints nothing, and never throws: errors are in its result. */
export const quietly = $({ quiet: true, nothrow: true });

/**
 * Runs a docker command that has to succeed.
 *
 * @param {readonly string[]} words after `docker`
 * @param {{ input?: string }} [options] `input` goes to its standard input
 * @returns {Promise<string>} its output
 * @throws {LabError} with the engine's own message
 */
export async function docker(words, options = {}) {
  const done = await quietly(options)`docker ${words}`;
  if (done.ok) return done.stdout.trim();
  throw new LabError(`docker ${words[0]} failed: ${lastLines(done.stderr)}`);
}

/**
 * The end of a program's output: the cause is there.
 *
 * @param {string} text
 */
export function lastLines(text, count = 5) {
  return text.trimEnd().split('\n').slice(-count).join('\n  ');
}

/**
 * @typedef {object} LabContainer
 * @property {string} name
 * @property {boolean} running
 * @property {string} project directory of the project that created it
 * @property {string} inputs hash of the inputs of its image
 */

/**
 * All containers of the lab, running or not.
 *
 * @returns {Promise<LabContainer[] | undefined>} undefined when no Docker engine answers
 */
export async function labContainers() {
  const format = `{{.Names}}\t{{.State}}\t{{.Label "${label}"}}\t{{.Label "${inputsLabel}"}}`;
  const listing = await quietly`docker ps --all --filter label=${label} --format ${format}`;
  if (!listing.ok) return undefined;
  return listing.lines().map((line) => {
    const [name = '', state = '', project = '', inputs = ''] = line.split('\t');
    return { name, running: state === 'running', project, inputs };
  });
}

/**
 * Addresses and names are fixed, so a machine has one lab. What a killed test run left does not
 * count.
 *
 * @throws {LabError} where another copy of the project has it
 */
export async function refuseLabOfOtherProject() {
  const other = (await labContainers())?.find(
    ({ project }) => project !== projectRoot && existsSync(project),
  );
  if (other === undefined || isAbandoned(join(other.project, '.lab'))) return;
  throw new LabError(
    `The lab of another copy of the project is running here: ${other.name} belongs to ${other.project}`,
    `Take it down there: cd ${other.project} && npm run lab:down`,
  );
}
