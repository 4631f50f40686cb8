// Loaded into a playbook's process before everything else (node --import): ends it by SIGKILL at
// the first boundary of a change at which no earlier run was ended. Each change has three: before
// it, in the middle, after it. One script makes several changes, each of one or more steps: there
// is one more boundary between each two steps. There the script kills all its processes, and this
// one ends.
//
// KILLED: a file with the boundaries so far, one JSON document a line; this run's is appended.
// APPLY_SECONDS: JSON, the duration of each change in an undisturbed run. KILL_SEED: any text.
import { createHash } from 'node:crypto';
import { appendFileSync, readFileSync } from 'node:fs';
import { patchSsh } from '../../patch-ssh.mjs';
import { sentScript } from '../../sent-script.mjs';

const { KILLED: file = '', APPLY_SECONDS = '{}', KILL_SEED = '' } = process.env;
/** @type {Record<string, number>} */
const applySeconds = JSON.parse(APPLY_SECONDS);
const killed = new Set(readFileSync(file, 'utf8').split('\n').filter(Boolean));
/** @type {Map<string, NodeJS.Timeout>} */
const waiting = new Map();

/** @param {string} boundary @param {string} change */
const keyOf = (boundary, change) => JSON.stringify([boundary, change]);

/** @param {string} boundary @param {string} change */
function killAt(boundary, change) {
  const key = keyOf(boundary, change);
  if (killed.has(key)) return;
  appendFileSync(file, `${key}\n`);
  process.kill(process.pid, 'SIGKILL');
}

/**
 * From 0 to 1, the same for the same seed.
 *
 * @param {string} change
 */
function part(change) {
  return createHash('sha256').update(`${KILL_SEED} ${change}`).digest().readUInt32BE() / 2 ** 32;
}

/**
 * @param {{ type: string, host: string, role: string, resource: string, outcome?: string }} event
 */
function see({ type, host, role, resource, outcome }) {
  const change = `${host} ${role}: ${resource}`;
  if (type === 'resource-started') {
    killAt('before', change);
    if (killed.has(keyOf('during', change))) return;
    waiting.set(
      change,
      setTimeout(() => killAt('during', change), part(change) * (applySeconds[change] ?? 1) * 1000),
    );
  } else if (type === 'resource-done' && waiting.has(change)) {
    // It ended sooner than expected: this boundary is as good as the one after it.
    clearTimeout(waiting.get(change));
    waiting.delete(change);
    killAt('during', change);
  } else if (type === 'resource-done' && outcome === 'changed') killAt('after', change);
}

const write = process.stdout.write.bind(process.stdout);
/** @type {typeof process.stdout.write} */
process.stdout.write = (/** @type {any} */ chunk, /** @type {any[]} */ ...rest) => {
  const done = write(chunk, ...rest);
  for (const line of String(chunk).split('\n')) if (line.startsWith('{')) see(JSON.parse(line));
  return done;
};

/**
 * Where a script notes on its host that it ends itself: the controller may have been killed just
 * before. In memory.
 */
const onHost = '/dev/shm/killed-between-steps';

/** What a script prints before it ends itself between two steps, and the key of that boundary. */
const between = /^killed between steps (.*)$/m;

/**
 * Kills a script of changes before its first step, but the very first, at which no earlier run was
 * killed.
 *
 * @param {string} script
 * @param {string} host
 */
function killedBetweenSteps(script, host) {
  let number = 0;
  let found = false;
  return script.replaceAll(/^__steps\d+\(\)\{\n[\s\S]*?^\}$/gm, (steps) =>
    steps.replaceAll(/(?=__do \d+ \d+ ')/g, () => {
      number += 1;
      const digest = createHash('sha256').update(steps).digest('hex').slice(0, 16);
      const key = keyOf('between', `${host} step ${number} ${digest}`);
      if (found || number === 1 || killed.has(key)) return '';
      found = true;
      return `echo '${key}' >>${onHost}; echo 'killed between steps ${key}' && kill -9 0 && `;
    }),
  );
}

patchSsh((client) => {
  const run = client.exec;
  client.exec = /** @this {any} */ function (
    /** @type {string} */ command,
    /** @type {any} */ options,
    /** @type {any} */ callback,
  ) {
    const host = this.config?.host ?? '';
    return run.call(this, command, options, (/** @type {any} */ error, /** @type {any} */ stream) => {
      if (stream) {
        const write = stream.write;
        let isFirst = true;
        // The first chunk has the whole script.
        stream.write = (/** @type {Buffer} */ chunk, /** @type {any[]} */ ...rest) => {
          const sent = isFirst ? sentScript(command, chunk.toString('latin1')) : undefined;
          isFirst = false;
          const changed = sent?.withScript(killedBetweenSteps(sent.script, host));
          return write.call(stream, changed === undefined ? chunk : Buffer.from(changed, 'latin1'), ...rest);
        };
      }
      let printed = '';
      stream?.on('data', (/** @type {Buffer} */ chunk) => {
        printed += chunk.toString('latin1');
        const key = between.exec(printed)?.[1];
        if (key === undefined) return;
        appendFileSync(file, `${key}\n`);
        process.kill(process.pid, 'SIGKILL');
      });
      callback(error, stream);
    });
  };
});
