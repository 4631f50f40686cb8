import { randomBytes } from 'node:crypto';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exitCode } from '../../lib/engine/problem/problem.ts';
import { startSshd } from '../ssh/sshd.ts';
import { checkDeployment } from './check-deployment.ts';
import { installForLightHosts, type LightHost, type LightHostOptions, startLightHost } from './light-host.ts';
import { type Member, runLight } from './run-light.ts';

const hosts: LightHost[] = [];

beforeAll(() => installForLightHosts());

afterAll(async () => {
  for (const host of hosts) await host.stop();
});

async function started(options: LightHostOptions = {}): Promise<LightHost> {
  const host = await startLightHost(`host-${randomBytes(3).toString('hex')}`, options);
  hosts.push(host);
  return host;
}

/** A user `op` there, with a password, a login shell and a line in sudoers. */
function user({ shell = '/bin/sh', sudoers = 'op ALL=(ALL) NOPASSWD: ALL' } = {}): string {
  return `useradd -m -s ${shell} op
echo op:right-password | chpasswd
echo '${sudoers}' >/etc/sudoers.d/op
chmod 440 /etc/sudoers.d/op
`;
}

const asOp = { inventory: { user: 'op' } };
const withPassword = { inventory: { user: 'op', become_password: 'env:LIGHT_SUDO' } };

/** Everything is written byte for byte, and the second run changes nothing. */
async function works(...members: readonly Member[]): Promise<void> {
  const first = await runLight(members);
  for (const { host } of members) expect(first.errorsOf(host.name)).toBe('');
  expect(first.exitCode, first.stderr).toBe(exitCode.converged);
  const second = await runLight(members);
  expect(second.exitCode).toBe(exitCode.converged);
  for (const { host } of members) {
    expect(first.summary[host.name]?.counts).toMatchObject({ changed: 5, failed: 0 });
    expect(
      host.run('cat /etc/light/node/grüße.conf /etc/list /etc/light/started; stat -c %a:%U /etc/light/node'),
    ).toBe('Gruß = "schön"\none\ntwo\nstarted\n750:root\n');
    expect(second.summary[host.name]?.counts).toMatchObject({ ok: 5, changed: 0 });
  }
}

/** One sentence says why, and a hint what to do. Nothing is done there. */
async function refused(cause: RegExp, members: readonly Member[], ...args: readonly string[]): Promise<void> {
  const run = await runLight(members, ...args);
  expect(run.exitCode).toBe(exitCode.unreachable);
  for (const { host } of members) {
    const [what = '', ...hint] = run.errorsOf(host.name).split('\n');
    expect(what).toMatch(cause);
    expect(hint.join('\n')).toMatch(/^ {2}\S/);
    expect(host.run('ls -d /etc/light 2>/dev/null || echo nothing')).toBe('nothing\n');
  }
}

describe('Awkward hosts: sudo', () => {
  test.concurrent('sudo that asks for no password: works', async () => {
    await works({ host: await started({ setUp: user() }), ...asOp });
  });

  test.concurrent('sudo with a password: works', async () => {
    await works({ host: await started({ setUp: user({ sudoers: 'op ALL=(ALL) ALL' }) }), ...withPassword });
  });

  test.concurrent('sudo with a password that is not given: refused', async () => {
    await refused(/sudo wants a password of op/, [
      { host: await started({ setUp: user({ sudoers: 'op ALL=(ALL) ALL' }) }), ...asOp },
    ]);
  });

  test.concurrent('sudo with another password than the given one: refused', async () => {
    const setUp = `${user({ sudoers: 'op ALL=(ALL) ALL' })}echo op:another | chpasswd`;
    await refused(/sudo did not take the password of op/, [
      { host: await started({ setUp }), ...withPassword },
    ]);
  });

  test.concurrent('sudo that lectures every time, with and without a password: works', async () => {
    const lecture =
      `printf 'uid 0 is a great power.\\n\\n$HOME ` +
      '`id`' +
      ` "quoted"\\n' >/etc/lecture
echo 'Defaults lecture=always, lecture_file=/etc/lecture' >/etc/sudoers.d/lecture`;
    await works(
      {
        host: await started({ setUp: `${user({ sudoers: 'op ALL=(ALL) ALL' })}${lecture}` }),
        ...withPassword,
      },
      { host: await started({ setUp: `${user()}${lecture}` }), ...asOp },
    );
  });

  test.concurrent('sudo that gives every command a terminal of its own and logs what it prints (use_pty, log_output): works', async () => {
    const setUp = `${user({ sudoers: 'op ALL=(ALL) ALL' })}echo 'Defaults use_pty, log_output' >/etc/sudoers.d/pty`;
    await works({ host: await started({ setUp }), ...withPassword });
  });

  test.concurrent('sudo with requiretty: refused', async () => {
    const requiretty = `echo 'Defaults requiretty' >/etc/sudoers.d/tty`;
    const password = user({ sudoers: 'op ALL=(ALL) ALL' });
    await refused(/sudo requires a terminal for op/, [
      { host: await started({ setUp: `${user()}${requiretty}` }), ...asOp },
      { host: await started({ setUp: `${password}${requiretty}` }), ...withPassword },
    ]);
  });

  test.concurrent('a user who may not use sudo: refused', async () => {
    await refused(/op may not become root/, [
      { host: await started({ setUp: user({ sudoers: '# nobody' }) }), ...withPassword },
    ]);
  });

  test.concurrent('no sudo installed: refused', async () => {
    const setUp = `${user()}rm /usr/bin/sudo`;
    await refused(/op is not root, and sudo is not installed/, [{ host: await started({ setUp }), ...asOp }]);
  });
});

describe('Awkward hosts: login shell', () => {
  test.concurrent.each([
    ['fish', '/usr/bin/fish'],
    ['tcsh', '/bin/tcsh'],
    ['csh', '/bin/bsd-csh'],
  ])('a login shell that is %s: works, for root and by sudo', async (_, shell) => {
    await works(
      { host: await started({ setUp: `usermod -s ${shell} root` }) },
      { host: await started({ setUp: user({ shell, sudoers: 'op ALL=(ALL) ALL' }) }), ...withPassword },
    );
  });

  test.concurrent('start-up files that print a banner, on both outputs: works', async () => {
    const banner = `usermod -s /bin/bash root
for each in .bashrc .profile .bash_profile; do
  printf 'echo "*** uid 0: authorised use only ***"; echo becomes root >&2; seq 20000\\n' >/root/$each
done`;
    await works({ host: await started({ setUp: banner, sshd: 'Banner /etc/ssh/light_config' }) });
  });

  test.concurrent('start-up files that take their time, and print meanwhile: works', async () => {
    const setUp = `usermod -s /bin/bash root
printf 'for i in 1 2 3; do printf %%s "loading "; sleep 0.1; done; printf "no end of line"\\n' >/root/.bashrc`;
    await works({ host: await started({ setUp }) });
  });

  test.concurrent('a start-up file that never ends: refused', async () => {
    const setUp = `usermod -s /bin/bash root
echo 'sleep 1000' >/root/.bashrc`;
    const cause = /the login shell did not begin a command within 4 s/;
    await refused(cause, [{ host: await started({ setUp }) }], '--timeout', '4');
  });

  test.concurrent('an account that may not log in (nologin): refused', async () => {
    await refused(/login shell did not run a command/, [
      { host: await started({ setUp: 'usermod -s /usr/sbin/nologin root' }) },
    ]);
  });

  test.concurrent('an account for sftp alone: refused', async () => {
    await refused(/login shell did not run a command/, [
      { host: await started({ sshd: 'ForceCommand internal-sftp' }) },
    ]);
  });
});

describe('Awkward hosts: file systems', () => {
  test.concurrent('/tmp, /var/tmp, /run and /dev/shm mounted noexec: works', async () => {
    const setUp =
      'for each in /tmp /var/tmp /run /dev/shm; do mount -t tmpfs -o noexec,nosuid,nodev none $each; done; mkdir /run/sshd';
    await works({ host: await started({ setUp }) });
  });

  test.concurrent('a full root disk: stops there and says so, and works when there is room', async () => {
    const host = await started({ size: '8m', setUp: 'mkdir /etc/light; cat /dev/zero >/filler || :' });
    const full = await runLight([{ host }]);
    expect(full.exitCode).toBe(exitCode.failed);
    expect(full.errorsOf(host.name)).toMatch(/No space left on device/);
    expect(host.run('cat /etc/list; find /etc/light /etc/.[!.]* -type f -newer /etc/list')).toBe('one\n');
    host.run('rm -r /filler /etc/light');
    await works({ host });
  });

  test.concurrent('no room on any file system, in memory neither: refused', async () => {
    const setUp = 'for each in / /run /dev/shm /tmp /var/tmp; do cat /dev/zero >$each/filler || :; done';
    await refused(/no room for temporary files/, [{ host: await started({ size: '8m', setUp }) }]);
  });

  test.concurrent('a read-only root: stops there and says so', async () => {
    const host = await started({ setUp: 'mount -o remount,ro /' });
    const run = await runLight([{ host }]);
    expect(run.exitCode).toBe(exitCode.failed);
    expect(run.errorsOf(host.name)).toMatch(/Read-only file system/);
  });

  test.concurrent('a read-only root that holds /run, too: refused, and other hosts go on', async () => {
    const host = await started({ setUp: 'umount /run; mkdir -p /run/sshd; mount -o remount,ro /' });
    const other = await started();
    const run = await runLight([{ host }, { host: other }]);
    expect(run.summary[host.name]?.stopped).toMatch(/lock cannot be taken: .*Read-only file system/);
    expect(run.summary[host.name]?.counts.changed).toBe(0);
    expect(run.exitCode).toBe(exitCode.failed);
    expect(run.summary[other.name]?.counts).toMatchObject({ changed: 5, failed: 0 });
  });
});

describe('Awkward hosts: userland', () => {
  test.concurrent('no bash: works', async () => {
    await works({ host: await started({ setUp: 'usermod -s /bin/sh root; rm /bin/bash' }) });
  });

  test.concurrent('busybox and nothing else: works', async () => {
    await works({ host: await started({ userland: 'busybox' }) });
  });

  test.concurrent('deploy to a server with busybox and nothing else: refused', async () => {
    const { exitCode: code, output } = await checkDeployment(await started({ userland: 'busybox' }));
    expect(code).toBe(exitCode.failed);
    expect(output).toMatch(/distribution is Debian 12 or 13, or Ubuntu 22\.04 or 24\.04\n.*it is BusyBox/);
  });

  test.concurrent('no base64: refused', async () => {
    await refused(/base64/, [{ host: await started({ setUp: 'rm /usr/bin/base64' }) }]);
  });

  test.concurrent('a locale that is not UTF-8: works, and names and contents arrive byte by byte', async () => {
    const setUp = `localedef -i de_DE -f ISO-8859-1 de_DE.ISO-8859-1
echo 'LC_ALL=de_DE.ISO-8859-1' >/etc/environment`;
    await works({
      host: await started({ setUp, sshd: 'SetEnv LC_ALL=de_DE.ISO-8859-1 LANG=de_DE.ISO-8859-1' }),
    });
  });
});

describe('Awkward hosts: clock', () => {
  // A clock of its own needs a machine of its own: a stand-in for `date` reports another time.
  const threeHours = (sign: '+' | '-') => `mv /usr/bin/date /usr/bin/date.real
printf '#!/bin/sh\\nexec /usr/bin/date.real -d "${sign}3 hours" "$@"\\n' >/usr/bin/date
chmod +x /usr/bin/date`;

  test.concurrent('a clock three hours behind or ahead (stand-in for date): works for what needs no clock', async () => {
    await works(
      { host: await started({ setUp: threeHours('-') }) },
      { host: await started({ setUp: threeHours('+') }) },
    );
  });

  test.concurrent('deploy to a server whose clock is hours off (stand-in for date): refused', async () => {
    const behind = await checkDeployment(await started({ setUp: threeHours('-') }));
    expect(behind.exitCode).toBe(exitCode.failed);
    expect(behind.output).toMatch(
      /clock is right to the hour\n.*it is 3\.0 h behind this machine's\n.*date -u -s/,
    );
    const ahead = await checkDeployment(await started({ setUp: threeHours('+') }));
    expect(ahead.output).toMatch(/it is 3\.0 h ahead of this machine's/);
  });
});

describe('Awkward hosts: sshd', () => {
  test.concurrent('MaxSessions 1: works', async () => {
    await works({ host: await started({ sshd: 'MaxSessions 1' }) });
  });

  test.concurrent('MaxSessions 0: refused', async () => {
    await refused(/refuses to run a command/, [{ host: await started({ sshd: 'MaxSessions 0' }) }]);
  });

  test.concurrent('MaxStartups 2, and others log in all the time: refused', async () => {
    const host = await started({ sshd: 'MaxStartups 2' });
    const others = [1, 2].map(() => connect(22, host.address));
    await refused(/ended the connection before the login/, [{ host }]);
    for (const other of others) other.destroy();
    await works({ host });
  });

  test.concurrent('a jump host with MaxStartups 2, and forty hosts behind it: works', async () => {
    const jump = await startSshd('MaxStartups 2');
    try {
      // Four hosts, as forty by their ports: checks take no lock. An sshd listens on sixteen ports
      // at most.
      const ports = Array.from({ length: 10 }, (_, at) => 2200 + at);
      const sshd = ['AddressFamily inet', ...ports.map((port) => `Port ${port}`)].join('\n');
      const four = await Promise.all([1, 2, 3, 4].map(() => started({ sshd })));
      for (const { clientKey } of four)
        appendFileSync(`${jump.clientKey}.pub`, readFileSync(`${clientKey}.pub`));
      const known = join(jump.directory, 'known');
      writeFileSync(known, `[127.0.0.1]:${jump.port} ${jump.hostKey}\n`);
      const inventory = { jump: `root@127.0.0.1:${jump.port}`, known_hosts: known };
      const members = four.flatMap((host) =>
        ports.map((port) => ({
          host: { ...host, name: `${host.name}-${port}` },
          inventory: { ...inventory, port },
        })),
      );
      const run = await runLight(members, '--check', '--forks', '40');
      expect(members.map(({ host }) => run.errorsOf(host.name)).join('')).toBe('');
      expect(run.exitCode).toBe(exitCode.pending);
    } finally {
      await jump.stop();
    }
  });
});
