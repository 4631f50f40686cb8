import {
  containersOf,
  type LabHost,
  labHosts,
  onHost,
  specifiedIndexes,
  stateIndexes,
} from '../../deploy/lab-host.ts';

/**
 * The state of the lab's hosts after a deployment, by name; two deployments are equal if these
 * are.
 */
export type Fingerprint = Readonly<Record<string, string>>;

/**
 * Everything that a deployment leaves, except what always differs: times, ids, and data of the
 * running node.
 */
export async function fingerprint(): Promise<Fingerprint> {
  const hosts = await Promise.all(labHosts.map(async (host) => [host, await ofHost(host)] as const));
  const prints = hosts.flatMap(([host, print]) =>
    Object.entries(print).map(([what, text]) => [`${host} ${what}`, text]),
  );
  return { ...Object.fromEntries(prints), ...(await ofDatabases()) };
}

async function ofHost(host: LabHost): Promise<Record<string, string>> {
  const [files, packages, units, engine, ...containers] = await Promise.all([
    onHost(host, listed),
    onHost(host, `dpkg-query -W -f '\${Package} \${Version} \${Status}\\n'`),
    onHost(
      host,
      `systemctl list-unit-files --no-pager --no-legend
       systemctl list-units --type=service,timer,mount --state=active,failed --no-pager --no-legend --plain |
         cut -d ' ' -f 1 | grep -v '^user\\|^session\\|^apt-daily\\|^dpkg-db\\|^systemd-tmpfiles-clean\\|^run-credentials\\|docker-overlay2-\\|docker-netns-'
       readlink /etc/localtime
       sed 's/UUID=[^ ]*/UUID=of-the-disk/' /etc/fstab
       awk '{ $3 = "of-the-disk"; print }' /etc/rpc-node/data-disks`,
    ),
    onHost(
      host,
      `docker info --format '{{.DockerRootDir}} {{json .RegistryConfig.IndexConfigs}} {{.LiveRestoreEnabled}}'`,
    ),
    ...containersOf[host].map((name) => onHost(host, `docker inspect ${name}`)),
  ]);
  const named = containersOf[host].map((name, at) => [
    `container ${name}`,
    configurationOf(containers[at] ?? ''),
  ]);
  return { files, packages, units, engine, ...Object.fromEntries(named) };
}

/**
 * Files that a run may write, with mode, owner and checksum. Without a machine's own identity, that of
 * its disks, and files of other programs, as Go's counters.
 */
const listed = `
  identity='^/etc/(machine-id|hostname|hosts|resolv.conf|mtab|fstab|ssh/ssh_host_.*|docker/key.json|.*-|\\.updated|ld.so.cache)( |$)'
  for folder in /etc /opt /root /home /srv /usr/local /data; do
    find "$folder" -xdev \\( -path /data/docker -o -path /data/snapshot/source -o -path '/data/*/_data' -o -name pgdata \\
      -o -path '/data/*db/*' -o -name .cache -o -name go -o -name lost+found -o -name '*.log' \\) -prune -o -printf '%p %y %m %u %g %l\\n'
  done | grep -vE "$identity" | sort
  find /etc /opt /root /home /srv /usr/local /data/snapshot -xdev -path /data/snapshot/source -prune -o -name .cache -prune -o \\
    -path /root/.config/go/telemetry -prune -o -type f ! -name '*.log' ! -name '*.verified' ! -path /etc/rpc-node/data-disks -exec sha256sum {} + | grep -vE "  $(printf %s "$identity" | cut -c2-)" | sort -k 2`;

interface Inspected {
  readonly Config: { readonly Labels: Readonly<Record<string, string>> };
  readonly HostConfig: { readonly Binds: readonly string[] | null };
  readonly State: { readonly Status: string };
  readonly RestartCount: number;
}

function configurationOf(inspected: string): string {
  const [{ Config, HostConfig, State }] = JSON.parse(inspected) as [Inspected];
  const own: Record<string, unknown> = { ...Config };
  // A container's own id, and Compose's number of the run.
  own.Hostname = undefined;
  own.Labels = Object.fromEntries(
    Object.entries(Config.Labels).filter(([key]) => !/oneoff|container-number/.test(key)),
  );
  // Compose prints them in any order; none contains another.
  const host = { ...HostConfig, Binds: HostConfig.Binds?.toSorted() };
  return JSON.stringify({ Config: own, HostConfig: host, status: State.Status }, sorted, 1);
}

/** Keys in alphabetical order: the engine's own order varies. */
function sorted(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * For each table of the archives, the number of rows that the databases lack; and the objects
 * around the rows.
 */
async function ofDatabases(): Promise<Fingerprint> {
  const rows = await onHost(
    'db-1',
    `cd /data/snapshot
     compare() { # ARCHIVE DATABASE
       pg_restore --list "$1" | awk '$4 == "TABLE" && $5 == "DATA" { print $6, $7 }' | while read -r schema table; do
         pg_restore --data-only --schema "$schema" --table "$table" --file - "$1" |
           sed -n '/^COPY /,/^\\\\\\.$/p' | sed '1d;$d' | sort >/tmp/archived
         echo "copy $schema.$table to stdout" | docker exec -i state-db psql -XqAtU state_user -d "$2" | sort >/tmp/held
         echo "$schema.$table $(wc -l </tmp/archived) rows, missing $(comm -23 /tmp/archived /tmp/held | wc -l)"
       done
     }
     compare testnet_state_db.sql.tar.gz state_db
     compare testnet_prover_db.sql.tar.gz prover_db
     rm /tmp/archived /tmp/held`,
  );
  const about = (database: string) =>
    onHost(
      'db-1',
      `docker exec -i state-db psql -XqAtU state_user -d ${database} <<'SQL'
select 'table', schemaname, tablename, tableowner from pg_tables where schemaname in ('state', 'public') order by 1, 2, 3;
select 'index', indexdef from pg_indexes where schemaname in ('state', 'public') order by 2;
select 'constraint', conrelid::regclass, conname, pg_get_constraintdef(oid) from pg_constraint order by 2::text, 3;
select 'mark', regexp_replace(shobj_description(oid, 'pg_database'), '"(at|table)": [^,]+', '', 'g') from pg_database where datname = current_database();
select 'owner', datname, pg_get_userbyid(datdba) from pg_database order by 2;
SQL`,
    );
  const [state, prover, found] = await Promise.all([about('state_db'), about('prover_db'), stateIndexes()]);
  return {
    'rows of the snapshot': rows,
    'state database': state,
    'prover database': prover,
    'specified indexes that are absent': specifiedIndexes.filter((name) => !found.includes(name)).join(' '),
  };
}
