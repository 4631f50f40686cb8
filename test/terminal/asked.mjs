#!/usr/bin/env zx
// A playbook on hosts that ask for a second factor: ASKED_HOSTS is their connection settings by name, as JSON.
import { commandLine } from '../../lib/start/command-line.mjs';
import { main, ok, openSession, play, playbook, role, task } from '../compiled-engine.mjs';

const work = role('work', () => [task('it is there', { check: async () => ok, work: async () => {} })]);

await main(playbook('asked', 'asks.', [play('work', { hosts: 'all', roles: [work] })]), commandLine, {
  load: async () => ({
    name: 'asked-test',
    file: 'asked.yaml',
    sourcesOf: () => [],
    hosts: Object.entries(JSON.parse(process.env.ASKED_HOSTS ?? '{}')).map(([name, connection]) => ({
      name,
      groups: ['all-of-them'],
      connection,
      vars: {},
    })),
  }),
  open: openSession,
  embedded: 'lab',
  prepareEmbedded: async () => {},
});
