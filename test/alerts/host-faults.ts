import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from './fault.ts';
import type { WatchedHost } from './host.ts';

type Of = (host: WatchedHost, name: string) => Fault[];

/** All faults of a host and of its containers, each by its alert. */
export function faultsOf(host: WatchedHost, name: string): Fault[] {
  return [diskFaults, containerFaults, firewallFaults, certificateFaults, otherFaults].flatMap((of) =>
    of(host, name),
  );
}

const diskFaults: Of = (host, name) => {
  const { space } = host;
  const growth = ongoing(async (goesOn) => {
    for (let size = 1; goesOn() && size < 200; size += 1) {
      const hasRoom = await space.run(`fallocate -l ${size}M ${host.disk('growing')}/log`).then(
        () => true,
        () => false,
      );
      if (!hasRoom) return;
      await sleep(700);
    }
  });
  return [
    {
      alert: `DiskFillingUp ${name}`,
      what: 'a file system that is half full grows all the time',
      async make() {
        await space.run(`fallocate -l 300M ${host.disk('growing')}/ballast`);
        growth.begin();
      },
      async end() {
        await growth.end();
        await space.run(`rm ${host.disk('growing')}/*g ${host.disk('growing')}/ballast`);
      },
    },
    {
      alert: `DiskNearlyFull ${name}`,
      // What comes at once looks like growth for an hour.
      also: [`DiskFillingUp ${name}`],
      what: 'a file takes all but 5 % of a file system',
      make: async () => {
        await space.run(
          `cd ${host.disk('full')} && fallocate -l $(df -B1 --output=avail,size . | awk 'NR == 2 { printf "%.0f", $1 - $2 * 0.05 }') ballast`,
        );
      },
      end: async () => void (await space.run(`rm ${host.disk('full')}/ballast`)),
    },
    {
      alert: `InodesNearlyUsedUp ${name}`,
      what: 'small files take nearly all inodes of a file system',
      make: async () =>
        void (await space.run(
          `cd ${host.disk('inodes')} && for i in $(seq 240); do : >file-$i || exit 0; done`,
        )),
      end: async () => void (await space.run(`rm ${host.disk('inodes')}/file-*`)),
    },
    {
      alert: `DataMissing ${name}`,
      what: 'the disk with the state database is not mounted',
      make: async () => void (await space.run(`umount ${host.disk('data')}`)),
      end: async () => void (await host.mount('data')),
    },
  ];
};

const containerFaults: Of = ({ engine }, name) => {
  const restarts = ongoing(async (goesOn) => {
    while (goesOn()) {
      await crashes(engine, 8, 1000);
      // Docker starts it at once again when it has run for ten seconds. On a busy machine too few starts were measured.
      for (let second = 0; goesOn() && second < 12; second += 1) await sleep(1000);
    }
  });
  return [
    {
      alert: `ContainerDown ${name}`,
      what: 'a container is stopped',
      make: async () => void (await engine.docker('stop --time 0 pool-db')),
      end: async () => void (await engine.docker('start pool-db')),
    },
    {
      alert: `ContainerUnhealthy ${name}`,
      what: 'the health check of a container fails',
      make: async () => void (await engine.docker('exec prover busybox touch /ill')),
      end: async () => void (await engine.docker('exec prover busybox rm /ill')),
    },
    {
      alert: `ContainerRestarting ${name}`,
      what: 'a container ends again after each start',
      also: [`ContainerEndsOften ${name}`, `ContainerDown ${name}`],
      make: restarts.begin,
      end: restarts.end,
    },
    {
      alert: `ContainerEndsOften ${name}`,
      // Docker waits up to a minute before a start, and time goes faster here.
      also: [`ContainerDown ${name}`],
      what: 'a container ends every few minutes',
      // Slower than the starts of ContainerRestarting.
      make: () => crashes(engine, 7, 12_500),
      end() {},
    },
    {
      alert: `DockerDown ${name}`,
      also: [`ContainerDown ${name}`],
      what: 'the Docker engine is stopped',
      make: () => engine.stop(),
      end: () => engine.start(),
    },
  ];
};

/** Work that goes on until it is ended. */
function ongoing(work: (goesOn: () => boolean) => Promise<void>) {
  let isOn = false;
  let running = Promise.resolve();
  return {
    begin() {
      isOn = true;
      running = work(() => isOn);
    },
    async end() {
      isOn = false;
      await running;
    },
  };
}

/** Its program fails so often. Docker waits longer each time before it starts it again. */
async function crashes(engine: WatchedHost['engine'], times: number, pause: number): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    await engine.crash('json-rpc').catch(() => {});
    await sleep(pause);
  }
}

const firewallFaults: Of = (host, name) => [
  {
    alert: `FirewallDown ${name}`,
    what: 'the timer that looks after the rules of the firewall is stopped',
    make: () => {
      host.timers.firewall = false;
    },
    end: () => {
      host.timers.firewall = true;
    },
  },
  {
    alert: `FirewallFlushed ${name}`,
    what: 'somebody removes the rules of the firewall',
    make: async () => void (await host.space.run('iptables -F; ip6tables -F')),
    end() {},
  },
];

const certificateFaults: Of = ({ certificates, certify }, name) => [
  {
    alert: `CertificateEnding ${name}`,
    what: 'a certificate of monitoring.certificates ends in ten days',
    make: () => certify(certificates.own, 10),
    end: () => certify(certificates.own, 90),
  },
  {
    alert: `DatabaseCertificateEnding ${name}`,
    what: 'the certificate of a database server ends in 20 days',
    make: () => certify(certificates.database, 20),
    end: () => certify(certificates.database, 90),
  },
];

const otherFaults: Of = ({ clock, small, textfiles, timers, exporter }, name) => [
  {
    alert: `MemoryShort ${name}`,
    what: 'a process takes nearly all memory',
    make: () => small.fillMemory(),
    end: () => small.freeMemory(),
  },
  {
    alert: `CpuBusy ${name}`,
    what: 'a process keeps the processor busy',
    make: () => small.keepBusy(),
    end: () => small.rest(),
  },
  {
    alert: `ClockOff ${name}`,
    what: 'the time server is two seconds ahead',
    make: () => clock.serve(2),
    end: () => clock.serve(0),
  },
  {
    alert: `MetricsUnreadable ${name}`,
    what: 'a program writes a wrong file of metrics',
    make: () => writeFileSync(join(textfiles, 'broken.prom'), 'no metric {\n'),
    end: () => rmSync(join(textfiles, 'broken.prom')),
  },
  {
    alert: `MetricsOld ${name}`,
    what: 'the timer of the metrics is stopped',
    hides: true,
    make: () => {
      timers.metrics = false;
    },
    end: () => {
      timers.metrics = true;
    },
  },
  {
    alert: `HostGone ${name}`,
    what: 'node_exporter ends',
    hides: true,
    make: () => exporter.stop(),
    end: () => exporter.start(),
  },
];
