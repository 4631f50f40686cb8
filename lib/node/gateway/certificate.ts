import { command } from '../../engine/host/step.ts';
import { driftOf, fileChange, type Resource } from '../../engine/resource/resource.ts';
import type { DnsAccess } from '../variables/acme.ts';
import type { AcmeCertificate } from '../variables/variables.ts';
import { acmeProgram, dnsCredentialsFile } from './paths.ts';

const story = '/var/log/letsencrypt/letsencrypt.log has the whole story';
const hintByHttp = `the ACME server has to reach port 80 of the gateways by each name; ${story}`;
const hintByDns = `the ACME server has to see the record _acme-challenge of each name: see gateway.tls.acme.dns, and its propagation_seconds where it saw none or an old one; ${story}`;

/** Seconds for certbot, beside those in which it waits for the DNS. */
const longest = 600;

/** HAProxy has a certificate for the names of the inventory, by ACME, which certbot renews. */
export function certificateIsIssued({ acme, names }: AcmeCertificate): Resource {
  const { directory, email, dns } = acme;
  const wanted = names.map((name) => name.toLowerCase()).toSorted();
  const by = methodOf(dns);
  const steps = stepsOf(dns);
  const words = [directory, email, by, ...wanted];
  return {
    name: `HAProxy has a certificate for ${names.join(', ')}, issued by ${new URL(directory).host}`,
    follows: dns ? [{ what: fileChange(dnsCredentialsFile), effect: 'is tried', certain: true }] : [],

    async check(host) {
      const said = (await host.$`${acmeProgram} state`).lines();
      const value = (key: string) =>
        said.find((line) => line.startsWith(`${key} `))?.slice(key.length + 1) ?? 'none';
      const isSaid = (key: string) => (value(key) === 'yes' ? 'yes' : 'no');
      const certificate = [
        { what: 'issued by', was: value('directory'), wanted: directory },
        { what: 'renewed by', was: value('by'), wanted: by },
        { what: 'for', was: value('names'), wanted: wanted.join(' ') },
        { what: 'valid', was: value('valid'), wanted: 'yes' },
      ].filter(({ was, wanted: right }) => was !== right);
      const isTried = {
        what: 'tried with this key',
        was: isSaid('tried'),
        wanted: dns ? 'yes' : isSaid('tried'),
      };
      const inUse = { what: 'HAProxy has it', was: isSaid('served'), wanted: 'yes' };
      const differences = [...certificate, isTried, inUse].filter(({ was, wanted: right }) => was !== right);
      const [isNew, isUntried] = [certificate.length > 0, isTried.was !== isTried.wanted];
      return driftOf(differences, [
        ...(isUntried || (isNew && dns) ? [steps.try(words)] : []),
        ...(isNew ? [steps.issue(words)] : []),
        ...(!isNew && inUse.was === 'no' ? [command`${acmeProgram} deployed`] : []),
      ]);
    },
  };
}

/** As templates/host/acme.sh has it, and finds it again in what certbot has saved. */
function methodOf(dns: DnsAccess | undefined): string {
  if (!dns) return 'http';
  return dns.propagation === undefined ? dns.plugin : `${dns.plugin}:${dns.propagation}`;
}

function stepsOf(dns: DnsAccess | undefined) {
  const hint = dns ? hintByDns : hintByHttp;
  const timeoutSeconds = longest + (dns?.propagation ?? 0);
  const failed = { what: 'certbot gets no certificate', hint };
  const notTried = { what: 'certbot cannot show by the DNS that the names are ours', hint };
  return {
    issue: (words: readonly string[]) =>
      command({ timeoutSeconds, failure: failed })`${acmeProgram} issue ${words}`,
    try: (words: readonly string[]) =>
      command({ timeoutSeconds, failure: notTried })`${acmeProgram} try ${words}`,
  };
}
