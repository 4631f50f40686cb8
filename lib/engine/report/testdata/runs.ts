import { CommandFailed, Output } from '../../host/output.ts';
import type { Difference } from '../../resource/resource.ts';
import { ScriptedRun, type TimedEvent } from './scripted-run.ts';

const start = Date.UTC(2024, 10, 21, 16, 42, 35);
const hosts = ['db-1', 'rpc-1', 'rpc-2'] as const;

const nodeConfiguration = (limit: number, write = '360s') => `[RPC]
Host = "0.0.0.0"
Port = 8123
ReadTimeout = "360s"
WriteTimeout = "${write}"
# Counts by X-Forwarded-For where a request has one: a proxy in front has to set it.
MaxRequestsPerIPAndSecond = ${limit}
SequencerNodeURI = "http://172.30.77.10:8545"
EnableL2SuggestedGasPricePolling = false
TraceBatchUseHTTPS = true
BatchRequestsEnabled = true
BatchRequestsLimit = 10000

[RPC.WebSockets]
Enabled = true
Host = "0.0.0.0"
Port = 8133
`;

const content = (was: string, wanted: string): Difference => ({ what: 'content', was, wanted });
const value = (what: string, was: string, wanted: string): Difference => ({ what, was, wanted });

const stderr = `E: Failed to fetch https://download.docker.com/linux/debian/dists/bookworm/pool/stable/amd64/containerd.io_1.7.22-1_amd64.deb  Could not connect to download.docker.com:443 (13.33.243.31), connection timed out
E: Unable to fetch some archives, maybe run apt-get update or try with --fix-missing?`;

const noRoute: Error = Object.assign(
  new CommandFailed(
    'apt-get install -y --no-install-recommends docker-ce docker-ce-cli containerd.io',
    new Output(100, Buffer.alloc(0), stderr),
  ),
  { hint: 'the host has to reach download.docker.com:443' },
);

/**
 * Servers of a first deploy: preflight and preparing.
 *
 * @returns the hosts that went through
 */
function prepared(run: ScriptedRun, failing: readonly string[]): string[] {
  run.play('preflight', hosts);
  for (const host of hosts) {
    run.done(host, 'preflight', 'preflight', 'operating system is Debian 12');
    run.done(host, 'preflight', 'preflight', 'CPU has AVX2');
    run.done(host, 'preflight', 'preflight', 'memory is 64 GiB or more', {
      outcome: 'warning',
      note: 'it has 24 GiB',
    });
    run.done(host, 'preflight', 'preflight', 'trusted sequencer answers');
    run.done(host, 'preflight', 'preflight', 'layer 1 answers');
  }
  const play = 'prepare servers';
  run.play(play, hosts);
  const slower = { 'db-1': 1, 'rpc-1': 1.3, 'rpc-2': 0.9 };
  return hosts.filter((host) => {
    const by = slower[host];
    run.done(host, play, 'client-tools', 'packages ca-certificates, curl, tar', {
      outcome: 'changed',
      seconds: 9.4 * by,
      differences: [value('curl', 'not installed', 'installed')],
    });
    run.done(host, play, 'time-sync', 'packages chrony', {
      outcome: 'changed',
      seconds: 4.2 * by,
      differences: [value('chrony', 'not installed', 'installed')],
    });
    run.done(host, play, 'time-sync', 'file /etc/chrony/sources.d/deployment.sources', {
      outcome: 'changed',
      seconds: 0.2,
      differences: [
        content('', 'server 172.30.77.10 iburst\nserver 172.30.77.11 iburst\n'),
        value('mode', '(nothing)', '0644'),
      ],
    });
    run.done(host, play, 'time-sync', 'service chrony is running', {
      outcome: 'changed',
      seconds: 0.6,
      differences: [value('started', 'before /etc/chrony/sources.d/deployment.sources changed', 'after it')],
    });
    run.done(
      host,
      play,
      'time-sync',
      'time zone is Etc/UTC',
      host === 'db-1'
        ? {}
        : {
            outcome: 'changed',
            seconds: 0.3,
            differences: [value('/etc/localtime', 'Europe/Paris', 'Etc/UTC')],
          },
    );
    if (failing.includes(host)) {
      run.done(host, play, 'docker', 'packages docker-ce, docker-ce-cli, containerd.io', {
        outcome: 'failed',
        seconds: 31.2,
        differences: [
          value('docker-ce', 'not installed', '5:27.3.1-1'),
          value('containerd.io', 'not installed', '1.7.22-1'),
        ],
        error: noRoute,
      });
      run.stopped(
        host,
        play,
        'packages docker-ce, docker-ce-cli, containerd.io failed',
        11,
        'packages docker-ce, docker-ce-cli, containerd.io',
      );
      return false;
    }
    run.done(host, play, 'docker', 'packages docker-ce, docker-ce-cli, containerd.io', {
      outcome: 'changed',
      seconds: 24 * by,
      differences: [
        value('docker-ce', 'not installed', '5:27.3.1-1'),
        value('containerd.io', 'not installed', '1.7.22-1'),
      ],
    });
    run.done(host, play, 'docker', 'docker compose answers', { seconds: 0.2 });
    run.done(host, play, 'docker-root', 'docker root is /data/docker', {
      outcome: 'changed',
      seconds: 12 * by,
      differences: [value('docker root', '/var/lib/docker', '/data/docker')],
    });
    run.done(host, play, 'disk-alert', 'file /usr/local/lib/rpc-node/disk-alert', {
      outcome: 'changed',
      seconds: 0.2,
      differences: [
        content(
          '',
          '#!/bin/sh\n# Tells when a data disk is 90% full.\nset -eu\ndf --output=pcent /data | tail -n 1\n',
        ),
      ],
    });
    run.done(host, play, 'configuration', 'file /opt/rpc-node/node.config.toml', {
      outcome: 'changed',
      seconds: 0.3,
      differences: [content(nodeConfiguration(7, '60s'), nodeConfiguration(10_000))],
    });
    return true;
  });
}

function database(run: ScriptedRun): void {
  const play = 'Database+Sync server';
  run.play(play, ['db-1']);
  const host = 'db-1';
  run.done(host, play, 'state-db', 'image postgres:15 is there', {
    outcome: 'changed',
    seconds: 41,
    differences: [value('postgres:15', '', 'sha256:4f2b8f1c')],
  });
  run.done(host, play, 'state-db', 'state-db is running with its configuration', {
    outcome: 'changed',
    seconds: 8.1,
    differences: [value('container', '', 'running')],
  });
  run.done(host, play, 'snapshot', 'download testnet_state_db.sql.tar.gz', {
    outcome: 'changed',
    seconds: 540,
    differences: [value('testnet_state_db.sql.tar.gz', '', '6.0 GiB')],
  });
  run.done(host, play, 'snapshot', 'state and prover databases are restored', {
    outcome: 'changed',
    seconds: 2460,
    note: 'restored from 2024-11-18',
  });
  run.done(host, play, 'snapshot', 'index transaction_l2_hash_idx', { outcome: 'changed', seconds: 95 });
  run.done(host, play, 'prover', 'prover is running with its configuration', {
    outcome: 'changed',
    seconds: 22,
    differences: [value('container', '', 'running')],
  });
  run.done(host, play, 'sync', 'sync is running with its configuration', {
    outcome: 'changed',
    seconds: 15,
    differences: [value('container', '', 'running')],
  });
}

/**
 * A first deploy to the README's three hosts: rpc-2 cannot install Docker, rpc-1 waits for the
 * restore and serves.
 */
export function failedRun(): readonly TimedEvent[] {
  const run = startedRun();
  prepared(run, ['rpc-2']);
  database(run);
  const play = 'RPC servers';
  run.play(play, ['rpc-1']);
  run.done('rpc-1', play, 'database-reachable', 'db-1 answers on 5432');
  run.done('rpc-1', play, 'prover', 'prover is running with its configuration', {
    outcome: 'changed',
    seconds: 31,
    differences: [value('container', '', 'running')],
  });
  run.done('rpc-1', play, 'pool-db', 'pool-db is running with its configuration', {
    outcome: 'changed',
    seconds: 12,
    differences: [value('container', '', 'running')],
  });
  run.done('rpc-1', play, 'json-rpc', 'json-rpc is running with its configuration', {
    outcome: 'changed',
    seconds: 44,
    differences: [value('container', '', 'running')],
  });
  run.done('rpc-1', play, 'verify', 'eth_blockNumber on http://localhost:8123 gives a block');
  run.done('rpc-1', play, 'verify', 'the newest block on http://localhost:8123 grows', { seconds: 14 });
  run.finished(hosts);
  return run.events();
}

/** The same, killed in the middle of the restore: no end, and half a last line in `text`. */
export function killedRun(): readonly TimedEvent[] {
  const run = startedRun();
  prepared(run, []);
  const play = 'Database+Sync server';
  run.play(play, ['db-1']);
  run.done('db-1', play, 'state-db', 'state-db is running with its configuration', {
    outcome: 'changed',
    seconds: 8.1,
  });
  const task = { host: 'db-1', play, role: 'snapshot', resource: 'state and prover databases are restored' };
  const from = run.clock('db-1');
  run.emit({ type: 'resource-started', task }, from);
  for (let passed = 10; passed < 900; passed += 10) {
    const progress = {
      what: 'restoring',
      done: passed * 2_000_000,
      total: 6 * 1024 ** 3,
      unit: 'bytes',
    } as const;
    run.emit({ type: 'progress', task, progress }, from + passed);
  }
  return run.events();
}

/** Check mode, with three things changed by hand and one host that does not answer. */
export function checkRun(): readonly TimedEvent[] {
  const run = new ScriptedRun(start);
  run.started('deploy', 'lab', [...hosts, 'rpc-3'], true);
  for (const host of hosts) run.connected(host, 0.4, 1.8);
  run.emit(
    {
      type: 'host-unreachable',
      host: 'rpc-3',
      error: new Error(
        'rpc-3: connect ECONNREFUSED 172.30.77.14:22\n  is sshd running there, and is the address right?',
      ),
    },
    2,
  );
  for (const host of hosts) {
    run.done(host, 'preflight', 'preflight', 'memory is 64 GiB or more', {
      outcome: 'warning',
      note: 'it has 24 GiB',
    });
    run.done(
      host,
      'prepare servers',
      'time-sync',
      'time zone is Etc/UTC',
      host === 'rpc-1'
        ? { outcome: 'pending', differences: [value('/etc/localtime', 'Europe/Paris', 'Etc/UTC')] }
        : {},
    );
    run.done(
      host,
      'prepare servers',
      'configuration',
      'file /opt/rpc-node/node.config.toml',
      host === 'rpc-1'
        ? { outcome: 'pending', differences: [content(nodeConfiguration(7), nodeConfiguration(10_000))] }
        : {},
    );
    if (host === 'db-1') {
      run.done(host, 'Database+Sync server', 'sync', 'sync is running with its configuration');
      continue;
    }
    run.done(host, 'RPC servers', 'json-rpc', 'json-rpc is running with its configuration', {
      outcome: 'pending',
      differences: [value('container', 'exited with 0', 'running')],
      commands: ['docker compose --project-directory /opt/rpc-node up --detach --wait json-rpc'],
    });
    run.done(host, 'RPC servers', 'verify', 'the newest block on http://localhost:8123 grows', {
      outcome: 'unknown',
      note: 'until json-rpc is running',
    });
  }
  run.finished([...hosts, 'rpc-3'], false, ['rpc-3']);
  return run.events();
}

/** Many hosts with many resources each: a tenth changed, a few failed. */
export function largeRun(hostCount: number, resourceCount: number): readonly TimedEvent[] {
  const names = Array.from({ length: hostCount }, (_, at) => `rpc-${String(at + 1).padStart(3, '0')}`);
  const run = new ScriptedRun(start);
  run.started('deploy', 'mainnet', names);
  for (const [at, host] of names.entries()) run.connected(host, 0.3 + (at % 7) / 10, 1.5);
  const roles = [
    'client-tools',
    'time-sync',
    'docker',
    'docker-root',
    'configuration',
    'prover',
    'pool-db',
    'json-rpc',
    'verify',
    'disk-alert',
  ];
  run.play('RPC servers', names);
  for (const [at, host] of names.entries()) {
    for (let nth = 0; nth < resourceCount; nth += 1) {
      const role = roles[Math.floor((nth * roles.length) / resourceCount)] ?? 'verify';
      const resource = `file /opt/rpc-node/part-${String(nth + 1).padStart(3, '0')}.toml`;
      const dice = (at * 7919 + nth * 104_729) % 97;
      if (dice === 13 && nth === 60) {
        run.done(host, 'RPC servers', role, resource, { outcome: 'failed', seconds: 3.2, error: noRoute });
        run.stopped(host, 'RPC servers', `${resource} failed`);
        break;
      }
      if (dice < 12)
        run.done(host, 'RPC servers', role, resource, {
          outcome: 'changed',
          seconds: 0.3 + (dice % 5) / 2,
          differences: [content(nodeConfiguration(at), nodeConfiguration(10_000 + nth))],
        });
      else if (dice === 50)
        run.done(host, 'RPC servers', role, resource, {
          outcome: 'warning',
          note: `${at} of 4 disks answer`,
        });
      else run.done(host, 'RPC servers', role, resource);
    }
  }
  run.finished(names);
  return run.events();
}

/** Every text that a remote machine or an operator can choose is markup here. */
export function hostileRun(): readonly TimedEvent[] {
  const markup = '<img src=x onerror="window.canary=1"></script><script>window.canary=2</script><!--';
  const host = `rpc-1${markup}`;
  const run = new ScriptedRun(start);
  run.started(`deploy${markup}`, `lab${markup}`, [host, 'rpc-2', 'rpc-3']);
  run.connected(host, 0.4, 1);
  run.connected('rpc-2', 0.4, 1);
  run.emit({ type: 'host-unreachable', host: 'rpc-3', error: new Error(`no route${markup}`) }, 1);
  run.play(`play${markup}`, [host, 'rpc-2']);
  for (const each of [host, 'rpc-2']) {
    run.done(each, `play${markup}`, `role${markup}`, `resource${markup}`, {
      outcome: 'changed',
      seconds: 1,
      note: `note${markup}`,
      differences: [
        value(`what${markup}`, `was${markup}`, `wanted${markup}`),
        content(`a\n${markup}\n`, `b\n${markup} \u202e \u001b[31m {{ data }} $& $1\n`),
      ],
    });
    run.done(each, `play${markup}`, 'role', 'warned', { outcome: 'warning', note: markup });
    run.done(each, `play${markup}`, 'role', 'fails', {
      outcome: 'failed',
      seconds: 2,
      error: new Error(markup),
    });
    run.stopped(each, `play${markup}`, `stopped${markup}`);
  }
  run.emit({ type: 'play-skipped', play: `next${markup}`, why: markup }, run.clock(host));
  run.finished([host, 'rpc-2', 'rpc-3'], false, ['rpc-3']);
  return run.events();
}

function startedRun(): ScriptedRun {
  const run = new ScriptedRun(start);
  run.started('deploy', 'lab', hosts);
  run.connected('db-1', 0.4, 1.6);
  run.connected('rpc-1', 0.5, 1.7);
  run.connected('rpc-2', 0.6, 1.9);
  return run;
}
