import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { alertmanager } from '../monitoring-programs.mjs';
import type { Fault } from './fault.ts';
import { startWatchedHost, type Watch } from './watched-host.ts';

// Each fault alone, and each beside another one: test/faults/long/alerts.test.ts.

let folder: string;
let watch: Watch;

/**
 * Faults that are seen beside each other, the first for each alert; and those that are seen in
 * their turn.
 */
function parts(): readonly (readonly Fault[])[] {
  const { faults } = watch;
  const later = /^(DockerDown|FirewallDown|AlertmanagerGone) /;
  const isFirst = ({ alert }: Fault, at: number) => faults.findIndex((fault) => fault.alert === alert) === at;
  const together = faults.filter(
    (fault, at) => !fault.hides && !later.test(fault.alert) && isFirst(fault, at),
  );
  const others = faults.filter((fault) => !fault.hides && !together.includes(fault));
  return [together, others, ...faults.filter(({ hides }) => hides).map((fault) => [fault])];
}

/** Installed by test/all.mjs. */
describe.skipIf(!existsSync(alertmanager))('alerts of a host', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'host-alerts-'));
  });
  afterAll(async () => {
    await watch?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test('a host that is well has no alert', async () => {
    watch = await startWatchedHost(folder);
    await watch.only([]);
  });

  test('each fault has its alert, and no alert is left when it is over', async () => {
    for (const faults of parts()) {
      const fired = watch.each(faults.map(({ alert }) => alert));
      await Promise.all([fired, ...faults.map(({ make }) => make())]);
      await Promise.all(faults.map(({ end }) => end()));
      await watch.only([]);
    }
  });
});
