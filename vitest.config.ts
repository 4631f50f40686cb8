import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { longDeployments } from './test/long-deployments.mjs';

// Debian's psql is a Perl program that looks for a cluster, and then starts the real one: that takes six
// times as long.
process.env.PATH = `/usr/lib/postgresql/15/bin:${process.env.PATH}`;

/**
 * Of the files that use the lab's own servers, each begins where the one before it ends: a deploy
 * to bare ones takes minutes.
 */
const deployments = [
  'deploy',
  'plan',
  'one-synchronizer',
  'consumers',
  'chain',
  'status',
  'paused',
  'faults',
  'snapshot',
];

/**
 * Seconds of the longest files of test/faults and test/kinds, on two busy processors. Others take
 * about 10.
 */
const longest: Readonly<Record<string, number>> = {
  'kinds/recovery': 215,
  'kinds/packet-filter': 135,
  'kinds/download-ranges': 130,
  'kinds/firewall': 130,
  'kinds/packages': 125,
  'kinds/rotation': 120,
  'faults/shell-injection': 110,
  'kinds/read-only': 95,
  'kinds/physical-sources': 90,
  'kinds/sandboxes': 80,
  'kinds/physical-snapshot': 75,
  'kinds/compose-service': 70,
  'kinds/encryption': 70,
  'kinds/service': 60,
  'faults/rewind': 55,
  'kinds/container-network': 55,
  'faults/hostile-inventory': 50,
  'kinds/physical-storage': 45,
  'kinds/rewind': 45,
  'faults/killed-between-steps': 30,
  'kinds/download': 30,
  'kinds/migrations': 30,
  'kinds/storage': 25,
  'kinds/take-snapshot': 25,
};

class DeploymentsInOrder extends BaseSequencer {
  /** Parts of about the same time. */
  override async shard(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { index = 1, count = 1 } = this.ctx.config.shard ?? {};
    const seconds = ({ moduleId }: TestSpecification): number =>
      longest[/\/test\/(\w+\/[^/]+)\.test\.ts$/.exec(moduleId)?.[1] ?? ''] ?? 10;
    const parts = Array.from({ length: count }, () => ({ total: 0, files: [] as TestSpecification[] }));
    const inOrder = [...files].sort(
      (a, b) => seconds(b) - seconds(a) || a.moduleId.localeCompare(b.moduleId),
    );
    for (const file of inOrder) {
      const least = parts.reduce((one, other) => (other.total < one.total ? other : one));
      least.total += seconds(file);
      least.files.push(file);
    }
    return parts[index - 1]?.files ?? [];
  }

  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number =>
      deployments.indexOf(/\/test\/deploy\/([^/]+)\.test\.ts$/.exec(moduleId)?.[1] ?? '');
    const sorted = await super.sort(files);
    const inOrder = sorted.filter((file) => place(file) !== -1).sort((a, b) => place(a) - place(b));
    return sorted.map((file) => (place(file) === -1 ? file : (inOrder.shift() ?? file)));
  }
}

/** Tests beside their code that start whole programs or commands, for seconds each. */
const programs = [
  'lib/commands/{each-host,logs,render,report,secrets,status}/*.test.ts',
  'lib/start/program.test.ts',
  'lib/engine/command-line/closed-pipe.test.ts',
  'lib/engine/file/trust.test.ts',
  'lib/engine/host/{connection,other-users-folders}.test.ts',
  'lib/engine/host/facts/gather-facts.test.ts',
  'lib/engine/host/reads/{other-users-links,reads}.test.ts',
  'lib/engine/host/ssh/{agent-keys,ssh,ssh-config}.test.ts',
  'lib/engine/host/{write-file,writer}.test.ts',
  'lib/engine/resource/docker/docker-root-script.test.ts',
  'lib/engine/resource/network/http.test.ts',
  'lib/engine/run/lock/lock.test.ts',
  'lib/engine/run/together.test.ts',
  'lib/engine/secret/age/age-file.test.ts',
  'lib/engine/secret/command-output.test.ts',
  'lib/node/backup/backup-check.test.ts',
  'lib/node/chain/{listeners,reachable,web-socket}.test.ts',
  'lib/node/chain/synchronizers.test.ts',
  'lib/node/encryption/new-authority.test.ts',
  'lib/node/inventory/encryption.test.ts',
  'lib/node/release/kept.test.ts',
  'lib/node/snapshot/restore-tool.test.ts',
];

/** promtool evaluates hours of each rule. */
const rules = 'lib/node/monitor/rules.test.ts';

/**
 * Trials that `npm run faults` runs: each fault needs an engine, a server or a host of its own, or
 * there are thousands of them.
 */
const longParts = [
  'awkward-hosts',
  'backup-copy',
  'cut-connections',
  'docker-root-refused',
  'hostile-archives',
  'hostile-files',
  'hostile-host-output',
  'hostile-options',
  'killed-engine',
  'missing-disk',
  'physical-snapshot',
  'storage',
].map((name) => `test/faults/${name}.test.ts`);

export default defineConfig({
  test: {
    sequence: { sequencer: DeploymentsInOrder },
    // Many tests wait for other programs. The default is one less than there are cores, which is
    // one on a machine of two.
    maxWorkers: 4,
    // Modules are compiled once: half of the time to load them would go into compiling them again.
    experimental: { fsModuleCache: true },
    projects: [
      // Modules are loaded once for all files: half of the time would go into loading them again.
      {
        test: {
          name: 'unit',
          include: ['{docs,lib,roles,lab}/**/*.test.ts'],
          exclude: [...programs, rules],
          // No test takes so long, but a loaded machine does.
          testTimeout: 120_000,
          isolate: false,
        },
      },
      { test: { name: 'programs', include: programs, isolate: false, testTimeout: 120_000 } },
      // The playbooks as users start them, and checks of texts that are the same on every Node:
      // too slow for the inner loop.
      {
        test: {
          name: 'playbooks',
          include: ['{playbooks,test/shell,test/words}/**/*.test.ts', rules],
          isolate: false,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      // Whole deployments, on the lab's own servers. One lab: its tests change hosts and must not
      // meet.
      {
        test: {
          name: 'lab',
          include: ['test/deploy/**/*.test.ts'],
          // By npm run faults.
          exclude: longDeployments,
          fileParallelism: false,
          testTimeout: 900_000,
          hookTimeout: 1_200_000,
        },
      },
      // Parts on servers of their own, with Docker and systemd. They may run beside the
      // deployments. Modules are loaded once, as those of the next three.
      {
        test: {
          name: 'parts',
          include: ['test/{faults,kinds}/**/*.test.ts'],
          exclude: ['test/faults/long/**', ...longParts],
          isolate: false,
          fileParallelism: false,
          testTimeout: 900_000,
          hookTimeout: 1_200_000,
        },
      },
      // Parts on this machine alone, at ports of their own: Prometheus; HAProxy; sshd, a browser, a terminal
      // and the HAProxy of layer 1. They may run beside all others.
      ...[
        { name: 'alerts', files: 'test/alerts/**' },
        { name: 'gateways', files: 'test/{gateway,protocol}' },
        { name: 'sessions', files: 'test/{gateway/layer1,report,ssh,terminal}/**' },
      ].map(({ name, files }) => ({
        test: {
          name,
          include: [`${files}/*.test.ts`],
          isolate: false,
          fileParallelism: false,
          testTimeout: 900_000,
          hookTimeout: 1_200_000,
        },
      })),
      // Whole deployments under every fault there is: more than an hour (npm run faults).
      {
        test: {
          name: 'faults',
          include: ['test/faults/long/**/*.test.ts', ...longParts, ...longDeployments],
          fileParallelism: false,
          testTimeout: 900_000,
          hookTimeout: 1_200_000,
        },
      },
    ],
  },
});
