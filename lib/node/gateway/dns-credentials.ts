import { type Content, secretContent } from '../../engine/resource/file/content.ts';
import { file } from '../../engine/resource/file/file.ts';
import type { Resource } from '../../engine/resource/resource.ts';
import { dropIn } from '../../engine/resource/system/drop-in.ts';
import { ownUnits } from '../../engine/resource/system/service.ts';
import { product } from '../server/product.ts';
import type { DnsAccess } from '../variables/acme.ts';
import { dnsCredentialsFile, triedCredentialsFile } from './paths.ts';

/** Debian's and Ubuntu's package of certbot's plugin. */
export const dnsPackages = (dns: DnsAccess | undefined): readonly string[] =>
  dns ? [`python3-certbot-dns-${dns.plugin}`] : [];

/** Where certbot.timer's runs find the keys of Route 53: certbot has no option for them. */
export const accessOfRoute53 = `${ownUnits}certbot.service.d/${product}.conf`;

/** What certbot's plugin needs to change the records, also for each renewal by the timer. */
export function dnsCredentials(dns: DnsAccess | undefined): Resource[] {
  if (!dns) return [];
  const environment = `[Service]\nEnvironment=AWS_SHARED_CREDENTIALS_FILE=${triedCredentialsFile}\n`;
  return [
    file(dnsCredentialsFile).content(contentOf(dns)),
    ...(dns.plugin === 'route53' ? [dropIn('certbot.service', product, environment)] : []),
  ];
}

/** What is no secret in any of these files. */
const shownKeys = ['rfc2136_server', 'rfc2136_port', 'rfc2136_name', 'rfc2136_algorithm', 'ovh_endpoint'];

function contentOf({ plugin, settings, secrets }: DnsAccess): Content {
  const all = Object.entries({
    ...settings,
    ...Object.fromEntries(Object.entries(secrets).map(([key, secret]) => [key, secret.reveal()])),
  });
  return secretContent(textOf(plugin, all), new RegExp(`^(?!dns_(?:${shownKeys.join('|')}) = )`));
}

function textOf(plugin: DnsAccess['plugin'], all: readonly (readonly [string, string | number])[]): string {
  const value = (name: string) => all.find(([key]) => key === name)?.[1];
  const lines = (named: typeof all) => named.map(([key, text]) => `${key} = ${text}\n`).join('');
  switch (plugin) {
    // The file of the account itself.
    case 'google':
      return `${value('account')}\n`;
    case 'route53':
      return `[default]\n${lines([
        ['aws_access_key_id', value('access_key') ?? ''],
        ['aws_secret_access_key', value('secret_key') ?? ''],
      ])}`;
    default:
      return lines(all.map(([key, text]) => [`dns_${plugin}_${key}`, text]));
  }
}
