import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { labUp } from '../../../lab/up.mjs';
import { onHost } from '../../deploy/lab-host.ts';
import { firing, monitor, monitoredLab, until } from '../../deploy/monitored-lab.ts';
import { runPlaybook } from '../../deploy/playbook.ts';
import { measured } from '../measured.ts';

// Alerts that a lab can cause within minutes, with the times of a monitor: the fault is made for
// real, and ended. Others have shorter times (test/alerts).

/** What the services around the deployment do. */
const outside = (command: string) => `curl -sS -f -X POST 'http://172.30.77.10:8090/control/${command}'`;
const certificate = '/etc/ssl/lab-monitor.pem';
const textfile = '/var/lib/prometheus/node-exporter/broken.prom';

interface Fault {
  /** `NAME HOST`; others may fire as well. */
  readonly alert: string;
  /** The host on which it is made, and shell lines. */
  readonly on: string;
  readonly make: string;
  readonly end: string;
  /** Most seconds until it fires. */
  readonly within?: number;
}

const faults: readonly Fault[] = [
  {
    alert: 'SequencerAway db-1',
    on: 'db-1',
    make: outside('sequencer/stop'),
    end: outside('sequencer/start'),
  },
  {
    alert: 'Layer1Away db-1',
    on: 'db-1',
    make: outside('layer1/stop'),
    end: outside('layer1/start'),
    within: 300,
  },
  {
    alert: 'ContainerDown rpc-1',
    on: 'rpc-1',
    make: 'docker stop prover',
    end: 'docker start prover; docker restart json-rpc',
  },
  {
    alert: 'JsonRpcSilent rpc-1',
    on: 'rpc-1',
    make: 'docker pause json-rpc',
    end: 'docker unpause json-rpc',
  },
  {
    alert: 'ContainerRestarting rpc-1',
    on: 'rpc-1',
    // Longer than the interval of the metrics, so that each start is seen.
    make: 'for i in 1 2 3 4; do docker restart --time 1 pool-db >/dev/null; sleep 35; done',
    end: 'docker restart json-rpc',
    within: 120,
  },
  {
    alert: 'DockerDown rpc-1',
    on: 'rpc-1',
    make: 'systemctl stop docker.socket docker.service',
    end: 'systemctl start docker.socket docker.service; sleep 5; docker start pool-db prover json-rpc',
  },
  { alert: 'ChainStale rpc-1', on: 'db-1', make: 'docker stop sync', end: 'docker start sync', within: 400 },
  {
    alert: 'DatabaseDown db-1',
    on: 'db-1',
    make: 'docker stop state-db',
    end: 'docker start state-db; sleep 10; docker restart prover; docker restart sync',
  },
  {
    alert: 'ConnectionsNearlyUsedUp db-1',
    on: 'db-1',
    make: `docker exec -d state-db sh -c 'for i in $(seq 800); do psql -XqU "$POSTGRES_USER" -d "$POSTGRES_DB" -c "select pg_sleep(600)" & done; wait'`,
    end: `echo "select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'PgSleep'" |
      docker exec -i state-db sh -c 'psql -XqU "$POSTGRES_USER" -d "$POSTGRES_DB" -o /dev/null'`,
    within: 300,
  },
  {
    alert: 'DiskNearlyFull db-1',
    on: 'db-1',
    // Without writing it: the file system has the space reserved.
    make: `fallocate -l $(df -B1 --output=avail,size /data | awk 'NR == 2 { printf "%.0f", $1 - $2 * 0.05 }') /data/ballast`,
    end: 'rm /data/ballast',
  },
  { alert: 'ClockOff rpc-1', on: 'rpc-1', make: 'systemctl stop chrony', end: 'systemctl start chrony' },
  {
    alert: 'CertificateEnding rpc-1',
    on: 'rpc-1',
    make: `openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=lab -days 5 -keyout /dev/null -out ${certificate} 2>/dev/null`,
    end: `openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=lab -days 90 -keyout /dev/null -out ${certificate} 2>/dev/null`,
  },
  {
    alert: 'HostGone rpc-1',
    on: 'rpc-1',
    make: 'systemctl stop prometheus-node-exporter',
    end: 'systemctl start prometheus-node-exporter',
  },
  {
    alert: 'MetricsOld rpc-1',
    on: 'rpc-1',
    make: 'systemctl stop rpc-node-metrics.timer',
    end: 'systemctl start rpc-node-metrics.timer',
  },
  {
    alert: 'MetricsUnreadable rpc-1',
    on: 'rpc-1',
    make: `echo 'no metric {' > ${textfile}`,
    end: `rm ${textfile}`,
  },
  {
    alert: 'AlertsNotDelivered monitor',
    on: 'rpc-1',
    make: `${outside('alerts/stop')}; docker stop json-rpc`,
    end: `${outside('alerts/start')}; docker start json-rpc`,
    within: 400,
  },
  {
    alert: 'AlertmanagerGone monitor',
    on: monitor,
    make: 'systemctl stop prometheus-alertmanager',
    end: 'systemctl start prometheus-alertmanager',
  },
];

beforeAll(() => labUp({ log: console.error }));

/** Minutes without a fault. */
const healthy = 30;

afterAll(async () => {
  await runPlaybook('deploy', '--inventory', 'lab', '--yes');
});

describe('Metrics and alerts: faults', () => {
  test('a monitor watches the deployment', async () => {
    for (const host of ['db-1', 'rpc-1', monitor]) {
      await onHost(
        host,
        `openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=lab -days 90 -keyout /dev/null -out ${certificate} 2>/dev/null`,
      );
    }
    const inventory = await monitoredLab({ certificates: [certificate] });
    const { exitCode, output } = await runPlaybook('deploy', '--inventory', inventory, '--yes');
    expect(exitCode, output).toBe(0);
    await until('no alert fires', 400, async () => (await firing()).length === 0);
  });

  test.for(faults)('$alert fires and clears', async ({ alert, on, make, end, within = 200 }, { task }) => {
    await onHost(on, make);
    let fired: number;
    try {
      fired = await until(`${alert} fires`, within, async () => (await firing()).includes(alert));
    } finally {
      await onHost(on, end);
    }
    const cleared = await until('no alert fires', 900, async () => (await firing()).length === 0);
    measured(task, `fires after ${fired.toFixed(0)} s, is clear after ${cleared.toFixed(0)} s`);
  });

  test(
    `a healthy deployment has no alert for ${healthy} minutes`,
    async ({ task }) => {
      const seen: string[] = [];
      const end = performance.now() + healthy * 60_000;
      await until('the time is over', healthy * 60 + 60, async () => {
        seen.push(...(await firing()));
        return performance.now() > end;
      });
      expect(seen).toEqual([]);
      measured(task, 'no alert');
    },
    (healthy + 5) * 60_000,
  );
});
