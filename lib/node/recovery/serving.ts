import { isIP, isIPv6 } from 'node:net';
import { command } from '../../engine/host/step.ts';
import { usualAddress } from '../../engine/inventory/address.ts';
import { secretContent } from '../../engine/resource/file/content.ts';
import { file } from '../../engine/resource/file/file.ts';
import { jobDirectory } from '../../engine/resource/job/job.ts';
import { drift, ok, type Resource, task, type Work } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { packages } from '../../engine/resource/system/packages.ts';
import { backupHost } from '../backup/source.ts';
import { trustedFile } from '../databases/tls-files.ts';
import { unfitFor } from '../encryption/fitness.ts';
import { namesOfServer } from '../encryption/names.ts';
import { newServerCertificate } from '../encryption/openssl.ts';
import { addressesOf, databaseHost } from '../variables/hosts.ts';
import type { Authority, Variables } from '../variables/variables.ts';
import { certificateFile, offeredFolder, passwordFile, servingUnit, servingUnitTls } from './paths.ts';

/** On the backup host: of rsync, or with encryption of stunnel before it. */
const servingPort = 8730;
/** Of rsync with encryption, on the loopback address alone. */
const innerPort = 8731;
/** A fetch that takes longer is started again by the next run. Seconds. */
const longestServed = 3 * 86_400;

/** The certificate is needed for one recovery. Days. */
const certificateDays = 30;

const configuration = `${jobDirectory}/recovery-rsyncd.conf`;
const encryption = `${jobDirectory}/recovery-stunnel.conf`;

/** The address of what the backup host offers, for rsync. */
export function offerOf(hosts: Context<Variables>['hosts']): string {
  return `rsync://recovery@${backupHost(hosts)?.connection.address ?? ''}:${servingPort}/recovery`;
}

/**
 * The program by which rsync reaches the offer where the inventory has `tls`: it encrypts, and
 * verifies the backup host by the deployment's authority. Empty for plain text.
 */
export function connectionToOffer({ hosts, vars }: Pick<Context<Variables>, 'hosts' | 'vars'>): string {
  const backup = backupHost(hosts);
  if (!vars.tls || !backup) return '';
  const address = usualAddress(backup.connection.address);
  const name = isIP(address) ? `-verify_ip ${address}` : `-verify_hostname ${address}`;
  const target = `${isIPv6(address) ? `[${address}]` : address}:${servingPort}`;
  return `openssl s_client -quiet -verify_quiet -noservername -verify_return_error ${name} -CAfile ${trustedFile} -connect ${target}`;
}

/** The Database+Sync server can fetch the offer, with a password, and encrypted where `tls` is on. */
export function offerCanBeFetched(context: Context<Variables>): Resource[] {
  const { vars } = context;
  const { tls } = vars;
  return [
    file(passwordFile).content(secretContent(`recovery:${vars.backup.password?.reveal()}\n`, /:/)),
    file(configuration).content(rsyncSettings(context)),
    ...(tls ? [packages('stunnel4'), certificateOfOffer(context, tls)] : []),
    ...(tls ? [file(encryption).content(stunnelSettings(context))] : []),
    offerIsServed(tls !== undefined),
  ];
}

function rsyncSettings({ vars, hosts }: Context<Variables>): string {
  // With encryption all connections come from stunnel.
  const clients = vars.tls ? ['127.0.0.1'] : addressesOf(databaseHost(hosts));
  return `use chroot = no\nuid = barman\ngid = barman\n[recovery]\npath = ${offeredFolder(vars)}\nread only = yes\nauth users = recovery
secrets file = ${passwordFile}\nhosts allow = ${clients.join(' ')}\n`;
}

function stunnelSettings({ host }: Context<Variables>): string {
  // Of IPv6 it listens on IPv4 too; a host may have IPv4 alone.
  const every = isIPv6(usualAddress(host.connection.address)) ? ':::' : '';
  return `foreground = yes
pid =
[recovery]
accept = ${every}${servingPort}
connect = 127.0.0.1:${innerPort}
cert = ${certificateFile}
sslVersionMin = TLSv1.2
`;
}

/** The backup host has a certificate, which is made and signed on this machine, while it offers. */
function certificateOfOffer({ host }: Context<Variables>, tls: Authority): Work {
  const wanted = { issuer: tls.certificate, names: namesOfServer(host) };
  return {
    name: 'the backup host has a certificate for the recovery',
    async check(reader) {
      const text = await reader.$`sed -n '/BEGIN CERTIFICATE/,/END CERTIFICATE/p' ${certificateFile}`;
      if (!text.ok) return drift([{ what: 'certificate', was: 'absent', wanted: wanted.names.join(', ') }]);
      const why = unfitFor(text.stdout, wanted, Date.now());
      return why === undefined ? ok : drift(why);
    },
    async work(writer) {
      const content = await newServerCertificate(tls, wanted.names, certificateDays);
      // One that runs has read an earlier certificate.
      await writer.run({ stdin: content })`
        umask 077
        systemctl stop ${servingUnitTls}.service 2>/dev/null || :
        cat >${certificateFile}.new && mv ${certificateFile}.new ${certificateFile}`;
    },
  };
}

function offerIsServed(encrypted: boolean): Resource {
  const [unit, other] = encrypted ? [servingUnitTls, servingUnit] : [servingUnit, servingUnitTls];
  const port = encrypted ? innerPort : servingPort;
  const words = `rsync --daemon --no-detach --port=${port} --config=${configuration}`;
  // The unit ends with the first of the two, and the other one with the unit. Here systemd would
  // read a dollar itself, and the sh of Debian has no wait for the first.
  const program = encrypted
    ? ['bash', '-c', `${words} --address=127.0.0.1 & stunnel ${encryption} & wait -n`]
    : words.split(' ');
  return task('the files of the recovery can be fetched', {
    check: async (host) => {
      if ((await host.unit(`${unit}.service`)).active === 'active') return ok;
      return drift('they are not served', [
        command`
          systemctl stop ${other}.service 2>/dev/null || :
          systemctl reset-failed ${unit}.service 2>/dev/null || :
          systemd-run --quiet --unit=${unit} --property=RuntimeMaxSec=${longestServed} ${program}`,
      ]);
    },
  });
}
