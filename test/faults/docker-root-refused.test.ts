import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { dockerRoot } from '../../lib/engine/resource/docker/docker-root.ts';
import { ok } from '../../lib/engine/resource/resource.ts';
import { applyDrift, type TestHost } from '../../lib/engine/resource/testing/test-host.ts';
import { scratchHost } from '../kinds/scratch.ts';

const move = dockerRoot({ product: 'rpc-node', root: '/data/docker', mountPoint: '/data' });
const dropIn = '/etc/systemd/system/docker.service.d/test.conf';

let host: TestHost;
let device: string;
let settings: string;

const run = (script: string) => host.run({ timeoutSeconds: 600 })`sh -ec ${script}`;
const text = async (command: string) => (await host.$`sh -c ${command}`).text();
const started = () => text('systemctl show --property ActiveEnterTimestampMonotonic docker.service');
const restart =
  'systemctl daemon-reload; systemctl reset-failed docker.service docker.socket; systemctl restart docker.service';

beforeAll(async () => {
  const scratch = await scratchHost();
  host = scratch.host;
  await run(`apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y docker.io rsync xfsprogs >/dev/null
    mkdir -p /etc/docker /etc/systemd/system/docker.service.d
    echo '{ "insecure-registries": ["172.30.77.10:5000"] }' >/etc/docker/daemon.json
    ${restart}`);
  device = await text('findmnt -rno SOURCE --mountpoint /data');
  settings = await text('cat /etc/docker/daemon.json');
  return scratch.remove;
}, 900_000);

/** The data disk with a new file system. */
const withDisk = (mkfs: string, options = 'defaults') =>
  `umount /data || :; wipefs -qa ${device}; ${mkfs} ${device} >/dev/null; mount -o ${options} ${device} /data`;
const whole = () => withDisk('mkfs.ext4 -q -F');

afterEach(async () => {
  await run(`systemctl stop docker.socket docker.service
    rm -f ${dropIn} /etc/default/docker /etc/docker/other.json /usr/local/sbin/xfs_info
    echo '${settings}' >/etc/docker/daemon.json
    ! mountpoint -q /var/lib/docker/extra || umount /var/lib/docker/extra
    ${whole()}
    ${restart}`);
});

/** Makes the engine start with options. */
const option = (words: string) =>
  `printf '[Service]\\nExecStart=\\nExecStart=/usr/sbin/dockerd -H fd:// --containerd=/run/containerd/containerd.sock ${words}\\n' >${dropIn}; ${restart}`;

/** Exactly these words, or what matches. */
const words = (wanted: string | RegExp): unknown =>
  typeof wanted === 'string' ? wanted : expect.stringMatching(wanted);

describe("a move of Docker's data that cannot succeed", () => {
  test.each<[what: string, made: string | (() => string), cause: string | RegExp, hint: string | RegExp]>([
    [
      'data-root as an option of the unit',
      option('--data-root /var/lib/docker/inner'),
      'dockerd is started with the option --data-root /var/lib/docker/inner, and then no setting in /etc/docker/daemon.json changes it',
      /^write "data-root": "\/var\/lib\/docker\/inner" into \/etc\/docker\/daemon\.json, take the option away/,
    ],
    [
      'data-root in a variable of the unit, for the next start',
      `echo 'DOCKER_OPTS="--data-root=/srv/other"' >/etc/default/docker; printf '[Service]\\nEnvironmentFile=-/etc/default/docker\\nExecStart=\\nExecStart=/usr/sbin/dockerd -H fd:// $DOCKER_OPTS\\n' >${dropIn}; systemctl daemon-reload`,
      'dockerd is started with the option --data-root /srv/other, and then no setting in /etc/docker/daemon.json changes it',
      /^write "data-root": "\/srv\/other"/,
    ],
    [
      'settings in another file',
      `cp /etc/docker/daemon.json /etc/docker/other.json; ${option('--config-file=/etc/docker/other.json')}`,
      'dockerd reads its settings from /etc/docker/other.json (--config-file), and not from /etc/docker/daemon.json',
      /^move these settings to \/etc\/docker\/daemon\.json/,
    ],
    [
      'users of their own for containers',
      `echo '{ "userns-remap": "default" }' >/etc/docker/daemon.json; ${restart}`,
      /^Docker gives its containers users of their own \(userns-remap\), and keeps its data in a folder of theirs, \/var\/lib\/docker\/\d+\.\d+$/,
      'no deployment works with that: the first check of a deploy says what to do',
    ],
    [
      'settings that are no JSON',
      `echo '{ no json' >/etc/docker/daemon.json`,
      /^\/etc\/docker\/daemon\.json/,
      /./,
    ],
    [
      'a disk that is read-only',
      () => `umount /data; mount -o ro ${device} /data`,
      '/data is mounted read-only',
      /^mount it read-write/,
    ],
    [
      'a file system of another kind',
      'umount /data; mount -t tmpfs tmpfs /data',
      '/data is on a file system of type tmpfs, on which Docker cannot work',
      'name another disk: docker_root: { disk: … }',
    ],
    [
      'XFS without ftype',
      // Kernels of today do not mount such a file system. xfs_info reads one from a file, in the
      // place of the mounted one.
      () => `${withDisk('mkfs.xfs -q -f')}; truncate -s 300M /srv/old.img; mkfs.xfs -q -f -m crc=0 -n ftype=0 /srv/old.img
       printf '#!/bin/sh\\nexec /usr/sbin/xfs_info /srv/old.img\\n' >/usr/local/sbin/xfs_info; chmod 0755 /usr/local/sbin/xfs_info`,
      'the XFS file system at /data was made without ftype, and Docker does not start on it',
      /^only a new file system has ftype/,
    ],
    [
      'too little room',
      'mountpoint -q /data; mountpoint -q /var/lib/docker; fallocate -l 200M /var/lib/docker/large; fallocate -l $(($(df -B1 --output=avail /data | tail -n 1) - 30000000)) /data/filler',
      /^there is no room for it: the data of docker takes \d+ MB, and \d+ MB are free for \/data\/docker$/,
      'make room there, or name another disk: docker_root: { disk: … }',
    ],
    [
      'room for too few files',
      () =>
        `rm -f /var/lib/docker/large; ${withDisk('mkfs.ext4 -q -F -N 16')}; cd /var/lib/docker; mkdir -p many; cd many; touch $(seq 1 3000)`,
      /^there is no room for it: the data of docker are \d+ files, and the file system of \/data\/docker has room for \d+ more$/,
      'make room there, or name another disk: docker_root: { disk: … }',
    ],
    [
      'a disk that is mounted in the data of Docker',
      'mkdir -p /data/x /var/lib/docker/extra; mount --bind /data/x /var/lib/docker/extra',
      'a file system of type ext4 is mounted at /var/lib/docker/extra, in the data of docker',
      'unmount it, or move the data of docker by hand',
    ],
    [
      'other data in the new folder',
      'mkdir -p /data/docker; touch /data/docker/letters',
      '/data/docker, which is to hold the data of docker, holds other data: /data/docker/letters',
      'check what this path is used for: if nobody uses it, mv /data/docker /data/docker.old',
    ],
    [
      'a link in the place of the new folder',
      'ln -s /srv /data/docker',
      '/data/docker, which is to hold the data of docker, is a link',
      'put a folder in its place, or nothing',
    ],
  ])('%s: the cause is found by the check, and Docker goes on', async (_, made, cause, hint) => {
    await run(typeof made === 'string' ? made : made());
    const before = await started();
    const seen = await move.check(host);
    expect(seen).toMatchObject({ is: 'drift', note: words(cause) });
    await expect(applyDrift(host, move)).rejects.toMatchObject({
      message: words(cause),
      hint: words(hint),
    });
    expect(await started()).toBe(before);
  });

  test('a disk on which overlay file systems do not work: it is tried before Docker stops', async () => {
    const before = await started();
    // A program in the place of mount, as the kernel of a disk without extended attributes
    // answers.
    await run(
      `printf '#!/bin/sh\\ncase " $* " in *" overlay "*) echo "overlayfs: not supported" >&2; exit 32 ;; esac\\nexec /bin/mount "$@"\\n' >/usr/local/bin/mount; chmod 0755 /usr/local/bin/mount`,
    );
    await expect(applyDrift(host, move)).rejects.toThrow(
      'docker cannot work on the disk of /data/docker, as overlay file systems do not: overlayfs: not supported',
    );
    await run('rm /usr/local/bin/mount');
    expect(await started()).toBe(before);
    expect(await text('ls -A /data')).toBe('lost+found');
  });

  test('noexec and nodev are no reason: Docker works on such a disk', async () => {
    await run(`rm -rf /var/lib/docker/many; ${withDisk('mkfs.ext4 -q -F', 'noexec,nodev,nosuid')}`);
    await applyDrift(host, move);
    expect(await move.check(host)).toEqual(ok);
    expect(
      await text(
        'docker run --rm --entrypoint sh 172.30.77.10:5000/postgres:15 -c "echo x >/dev/null && echo ran"',
      ),
    ).toBe('ran');
  });
});
