#!/usr/bin/env zx
// A playbook on hosts that ask for a second factor: ASKED_HOSTS is their connection settings by name, as JSON.
import { commandLine } from '../../lib/start/command-line.mjs';
import '../typescript.mjs';

const { main } = await import('../../lib/commands/playbook/command.ts');
const { openSession } = await import('../../lib/engine/host/open-session.ts');
const { ok, task } = await import('../../lib/engine/resource/resource.ts');
const { role } = await import('../../lib/engine/resource/role.ts');
const { play, playbook } = await import('../../lib/engine/run/playbook.ts');

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
