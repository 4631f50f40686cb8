#!/usr/bin/env zx
// A playbook for light hosts: a few files, and one task with a check and a change of configurable
// duration.
import { writeFileSync } from 'node:fs';
import * as z from 'zod';
import { commandLine } from '../../lib/start/command-line.mjs';
import {
  directory,
  drift,
  file,
  line,
  loadInventory,
  main,
  ok,
  openSession,
  play,
  playbook,
  role,
  task,
  write,
} from '../compiled-engine.mjs';

const variables = z.strictObject({
  look_seconds: z.number().default(0),
  work_seconds: z.number().default(0),
  large_file_bytes: z.int().default(0),
  files_in_one_task: z.int().default(0),
});

/** @typedef {z.output<typeof variables>} Variables */

const files = role(
  'files',
  /** @param {import('../../lib/engine/resource/role.ts').Context<Variables>} context */ ({ vars }) => [
    directory('/etc/light/node').mode(0o750),
    file('/etc/light/node/grüße.conf').content('Gruß = "schön"\n'),
    line('/etc/list', 'two'),
    ...(vars.files_in_one_task > 0 ? [filesInOneTask(vars.files_in_one_task)] : []),
    ...(vars.large_file_bytes > 0
      ? [file('/etc/light/large').content('x'.repeat(vars.large_file_bytes))]
      : []),
  ],
);

/** @param {number} count */
function filesInOneTask(count) {
  const paths = Array.from({ length: count }, (_, at) => `/etc/light/part-${at + 1}`);
  const text = 'part\n'.repeat(1000);
  return task('all parts are there', {
    check: async (host) => {
      const parts = await Promise.all(paths.map((path) => host.read(path)));
      const left = paths.filter((_, at) => parts[at]?.toString() !== text);
      return left.length === 0
        ? ok
        : drift(
            `without ${left.join(' ')}`,
            left.map((path) => write(path, text)),
          );
    },
  });
}

const work = role(
  'work',
  /** @param {import('../../lib/engine/resource/role.ts').Context<Variables>} context */ ({ vars }) => [
    task('work is done', {
      check: async (host) => {
        if (vars.look_seconds > 0) await host.$`sleep ${vars.look_seconds}`;
        return (await host.stat('/etc/light/done')) ? ok : drift('not yet');
      },
      work: async (host) => {
        await host.run`echo started >>/etc/light/started`;
        if (vars.work_seconds > 0) await host.run`sleep ${vars.work_seconds}`;
        await host.run`touch /etc/light/done`;
      },
    }),
    file('/etc/light/after').content('after the work\n'),
  ],
);

const peakFile = process.env.LIGHT_PEAK_FILE;
// Kilobytes, as getrusage(2) has them.
if (peakFile) process.once('exit', () => writeFileSync(peakFile, String(process.resourceUsage().maxRSS)));

await main(
  playbook('light', 'puts a few files on light hosts.', [
    play('files', { hosts: 'all', roles: [files] }),
    play('work', { hosts: 'all', roles: [work] }),
  ]),
  commandLine,
  {
    load: (nameOrFile, options) => loadInventory(nameOrFile, variables, options),
    open: openSession,
    embedded: 'lab',
    prepareEmbedded: async () => {},
  },
);
