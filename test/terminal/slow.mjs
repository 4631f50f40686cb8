#!/usr/bin/env zx
// A playbook on this machine that changes one directory, slowly: SLOW_DIRECTORY.
import { commandLine } from '../../lib/start/command-line.mjs';
import {
  drift,
  main,
  ok,
  openSession,
  pause,
  play,
  playbook,
  role,
  task,
  thisMachine,
} from '../compiled-engine.mjs';

const directory = process.env.SLOW_DIRECTORY ?? '';

/**
 * @param {string} name
 * @param {(host: import('../../lib/engine/host/host.ts').Writer) => Promise<unknown>} work
 */
function made(name, work) {
  const path = `${directory}/${name}`;
  return task(`${name} is made`, {
    check: async (host) => ((await host.stat(path)) ? ok : drift('missing')),
    work: async (host) => {
      await host.run`touch ${path}.started`;
      await work(host);
      await host.run`touch ${path}`;
    },
  });
}

const work = role('work', () => [
  made('one', (host) => host.run`sleep 2`),
  made('two', (host) => host.run`sleep 0.1`),
  made('three', (host) => pause(host, 60, 'three.service goes on on here')),
  made('four', (host) => host.run`sleep 0.1`),
]);

await main(
  playbook('slow', 'takes its time.', [play('work', { hosts: 'all', roles: [work] })]),
  commandLine,
  {
    load: async () => ({
      name: 'ctrl-c-test',
      file: 'here.yaml',
      hosts: [{ name: 'here', groups: ['all-of-them'], connection: thisMachine, vars: {} }],
      sourcesOf: () => [],
    }),
    open: openSession,
    embedded: 'lab',
    prepareEmbedded: async () => {},
  },
);
