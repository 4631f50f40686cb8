// The cost of a plain runner that makes one request at a time over node-ssh, without Nagle's
// algorithm: hosts in parallel, the checks of a host one after another, none of them combined.
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { NodeSSH } from 'node-ssh';

/** @typedef {import('../workload.ts').Workload} Workload */

/**
 * @type {{ hosts: { address: string }[], identityFile: string, knownHostsFile: string, work:
 * Workload }}
 */
const { hosts, identityFile, knownHostsFile, work } = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'));
const privateKey = readFileSync(identityFile, 'utf8');
const known = readFileSync(knownHostsFile, 'utf8').split('\n');

/** @type {readonly (readonly [string, string])[]} A command, and its output if nothing differs. */
const checks = [
  ['. /etc/os-release; echo "$ID"', work.preflight.distribution],
  ['. /etc/os-release; echo "$VERSION_ID"', work.preflight.version],
  ['uname -m', work.preflight.architecture],
  ['cat /proc/1/comm', 'systemd'],
  [
    `[ "$(sed -n 's/^MemTotal: *\\([0-9]*\\) kB/\\1/p' /proc/meminfo)" -ge ${work.preflight.memory / 1024} ]&&echo yes`,
    'yes',
  ],
  [`[ "$(nproc)" -ge ${work.preflight.processors} ]&&echo yes`, 'yes'],
  [`[ "$(uname -r|cut -d. -f1)" -ge ${work.preflight.kernelMajor} ]&&echo yes`, 'yes'],
  ...work.freePorts.map((port) => /** @type {const} */ ([`ss -Hltn 'sport = :${port}'`, ''])),
  [
    `dpkg-query -W -f '\${db:Status-Status}\\n' ${work.packages.join(' ')}`,
    work.packages.map(() => 'installed').join('\n'),
  ],
  ...work.groups.map(
    ({ name, gid }) => /** @type {const} */ ([`getent group ${name}|cut -d: -f1,3`, `${name}:${gid}`]),
  ),
  ...work.users.map(
    ({ name, uid }) => /** @type {const} */ ([`getent passwd ${name}|cut -d: -f1,3`, `${name}:${uid}`]),
  ),
  ...work.directories.map(
    ({ path, mode, owner, group }) =>
      /** @type {const} */ ([`stat -c '%a %U %G' ${path}`, `${mode.slice(1)} ${owner} ${group}`]),
  ),
  ...work.files.map(
    ({ path, mode, owner, group, content }) =>
      /** @type {const} */ ([
        `stat -c '%a %U %G' ${path} && cat ${path}`,
        `${mode.slice(1)} ${owner} ${group}\n${content}`.trim(),
      ]),
  ),
  ...work.sysctl.map(
    ({ key, value }) =>
      /** @type {const} */ ([
        `sysctl -n ${key} && cat /etc/sysctl.d/${key}.conf`,
        `${value}\n${key} = ${value}`,
      ]),
  ),
  ...work.units.map(
    (unit) =>
      /** @type {const} */ ([
        `systemctl is-active ${unit} && systemctl is-enabled ${unit}`,
        'active\nenabled',
      ]),
  ),
  ['readlink -f /etc/localtime', `/usr/share/zoneinfo/${work.timezone}`],
  ...work.hostsLines.map((line) => /** @type {const} */ ([`grep -xF '${line}' /etc/hosts`, line])),
];

await Promise.all(
  hosts.map(async ({ address }) => {
    const key = known.find((line) => line.split(' ')[0]?.split(',').includes(address))?.split(' ')[2];
    const ssh = new NodeSSH();
    await ssh.connect({
      sock: connect({ host: address, port: 22, noDelay: true }),
      username: 'root',
      privateKey,
      hostVerifier: (/** @type {Buffer} */ shown) => shown.toString('base64') === key,
    });
    for (const [command, wanted] of checks) {
      const { stdout } = await ssh.execCommand(command);
      if (stdout.trim() !== wanted)
        throw new Error(`${address}: ${command} printed:\n${stdout}\nand not:\n${wanted}`);
    }
    ssh.dispose();
  }),
);
