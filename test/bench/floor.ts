import { createHash } from 'node:crypto';
import { quote } from '../../lib/engine/host/quote.ts';
import type { Workload } from './workload.ts';

/** The end marker of a here document: is on no line of the workload. */
const end = 'END-OF-CONTENT';

/**
 * The floor: one hand-written sh script for this workload alone. It checks everything in a few
 * commands, and goes through each resource only if something differs.
 *
 * @param mode `check` prints what differs and changes nothing
 */
export function floorScript(work: Workload, mode: 'apply' | 'check'): string {
  return `${expectations(work)}
wanted=$(cat <<'${end}'
${wanted(work)}
${end}
)
look() {
${look(work)}
}
seen=$(look 2>&1)
[ "$seen" = "$wanted" ]&&exit 0
${mode === 'check' ? showDifferences(work) : repair(work)}`;
}

const q = quote;
const words = (list: readonly (string | number)[]) => list.map(String).map(q).join(' ');

function expectations({ preflight, freePorts }: Workload): string {
  return `fail() { echo "$1" >&2;exit 1; }
. /etc/os-release
[ "$ID $VERSION_ID" = ${q(`${preflight.distribution} ${preflight.version}`)} ]||fail distribution
[ "$(uname -m)" = ${q(preflight.architecture)} ]||fail architecture
[ "$(uname -r|cut -d. -f1)" -ge ${preflight.kernelMajor} ]||fail kernel
[ "$(sed -n 's/^MemTotal: *\\([0-9]*\\) kB/\\1/p' /proc/meminfo)" -ge ${Math.floor(preflight.memory / 1024)} ]||fail memory
[ "$(nproc)" -ge ${preflight.processors} ]||fail processors
[ -d /run/systemd/system ]||fail systemd
[ -z "$(ss -Hltn ${q(freePorts.map((port) => `sport = :${port}`).join(' or '))})" ]||fail ports`;
}

const attributes = ({ path, mode, owner, group }: Workload['directories'][number]) =>
  `${path} ${mode.replace(/^0/, '')} ${owner} ${group}`;

/** The output of \`look\` if nothing differs. */
function wanted(work: Workload): string {
  return [
    // dpkg-query sorts its output.
    ...[...work.packages].sort().map((name) => `${name} installed`),
    ...work.groups.map(({ name, gid }) => `${name} ${gid}`),
    ...work.users.map(({ name, uid }) => `${name} ${uid}`),
    ...[...work.directories, ...work.files].map(attributes),
    'same contents',
    ...work.sysctl.map(({ value }) => value),
    ...work.units.map((unit) => `${unit} active enabled`),
    `/usr/share/zoneinfo/${work.timezone}`,
    String(work.hostsLines.length),
  ].join('\n');
}

function look(work: Workload): string {
  const paths = [...work.directories, ...work.files].map(({ path }) => path);
  return `dpkg-query -W -f '\${binary:Package} \${db:Status-Status}\\n' ${words(work.packages)}
getent group ${words(work.groups.map(({ name }) => name))}|cut -d: -f1,3 --output-delimiter=' '
getent passwd ${words(work.users.map(({ name }) => name))}|cut -d: -f1,3 --output-delimiter=' '
stat -c '%n %a %U %G' ${words(paths)}
sha256sum -c --status <<'${end}' && echo same contents
${work.files.map(({ path, content }) => `${sha256(content)}  ${path}`).join('\n')}
${end}
sysctl -n ${words(work.sysctl.map(({ key }) => key))}
systemctl show -p Id -p ActiveState -p UnitFileState ${words(work.units)}|paste -d' ' - - - -|sed 's/Id=\\(.*\\) ActiveState=\\(.*\\) UnitFileState=\\(.*[a-z]\\) *$/\\1 \\2 \\3/'
readlink -f /etc/localtime
grep -cxF ${work.hostsLines.map((line) => `-e ${q(line)}`).join(' ')} /etc/hosts`;
}

function showDifferences(work: Workload): string {
  const contents = work.files.map(({ path, content }) => `diff -u ${q(path)} - <<'${end}'\n${content}${end}`);
  return `echo "$wanted" >/tmp/floor.$$;echo "$seen"|diff /tmp/floor.$$ -;rm /tmp/floor.$$
${contents.join('\n')}
exit 0`;
}

function repair(work: Workload): string {
  const put = ({ path, mode, owner, group, content }: Workload['files'][number]) => `put ${words([
    path,
    mode,
    `${owner}:${group}`,
  ])} <<'${end}'
${content}${end}`;
  const kept = work.sysctl.map(({ key, value }) => ({
    path: `/etc/sysctl.d/${key}.conf`,
    mode: '0644',
    owner: 'root',
    group: 'root',
    content: `${key} = ${value}\n`,
  }));
  return `set -e
put() { t=$1.new;cat >"$t";if cmp -s "$t" "$1";then rm "$t";else mv "$t" "$1";fi;chown "$3" "$1";chmod "$2" "$1"; }
dpkg-query -W ${words(work.packages)} >/dev/null||apt-get -qq -y install ${words(work.packages)}
${work.groups.map(({ name, gid }) => `getent group ${q(name)} >/dev/null||groupadd --gid ${gid} ${q(name)}`).join('\n')}
${work.users
  .map(
    ({ name, uid, group }) =>
      `getent passwd ${q(name)} >/dev/null||useradd --uid ${uid} --gid ${q(group)} --no-create-home --shell /usr/sbin/nologin ${q(name)}`,
  )
  .join('\n')}
mkdir -p ${words(work.directories.map(({ path }) => path))}
${work.directories.map(({ path, mode, owner, group }) => `chown ${q(`${owner}:${group}`)} ${q(path)};chmod ${mode} ${q(path)}`).join('\n')}
${[...work.files, ...kept].map(put).join('\n')}
sysctl -q -w ${words(work.sysctl.map(({ key, value }) => `${key}=${value}`))}
systemctl daemon-reload
systemctl -q enable --now ${words(work.units)}
ln -sfn ${q(`/usr/share/zoneinfo/${work.timezone}`)} /etc/localtime
echo ${q(work.timezone)} >/etc/timezone
${work.hostsLines.map((line) => `grep -qxF ${q(line)} /etc/hosts||echo ${q(line)} >>/etc/hosts`).join('\n')}
seen=$(look 2>&1)
[ "$seen" = "$wanted" ]||fail "it did not converge: $seen"`;
}

function sha256(content: string): string {
  return createHash('sha256').update(content).digest('hex');
}

/** Resets a host: removes everything of the workload but its packages. */
export function bareScript(work: Workload): string {
  const own = work.units.filter((unit) => unit !== 'cron.service');
  const files = [
    ...work.files.map(({ path }) => path),
    ...work.sysctl.map(({ key }) => `/etc/sysctl.d/${key}.conf`),
  ];
  return `systemctl -q disable --now ${words(own)} 2>/dev/null
rm -rf ${words(files)} ${q(work.directories[0]?.path ?? '')}
systemctl daemon-reload
for user in ${words(work.users.map(({ name }) => name))};do userdel "$user" 2>/dev/null;done
for group in ${words(work.groups.map(({ name }) => name))};do groupdel "$group" 2>/dev/null;done
sysctl -q -w net.ipv4.tcp_keepalive_time=7200 net.ipv4.tcp_keepalive_intvl=75 net.ipv4.tcp_fin_timeout=60 net.core.somaxconn=4096
ln -sfn /usr/share/zoneinfo/Europe/Berlin /etc/localtime
# It would go on telling the zone that it has read once.
systemctl stop systemd-timedated.service 2>/dev/null
echo Europe/Berlin >/etc/timezone
printf '127.0.0.1 localhost\\n' >/etc/hosts
true`;
}
