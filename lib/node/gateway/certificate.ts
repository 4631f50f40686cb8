import { command } from '../../engine/host/step.ts';
import { driftOf, type Resource } from '../../engine/resource/resource.ts';
import type { AcmeCertificate } from '../variables/variables.ts';
import { acmeProgram } from './paths.ts';

const failure = {
  what: 'certbot gets no certificate',
  hint: 'the ACME server has to reach port 80 of the gateways by each name; /var/log/letsencrypt/letsencrypt.log has the whole story',
};

/** HAProxy has a certificate for the names of the inventory, by ACME, which certbot renews. */
export function certificateIsIssued({ acme: { directory, email }, names }: AcmeCertificate): Resource {
  const wanted = names.map((name) => name.toLowerCase()).toSorted();
  return {
    name: `HAProxy has a certificate for ${names.join(', ')}, issued by ${new URL(directory).host}`,

    async check(host) {
      const said = (await host.$`${acmeProgram} state`).lines();
      const value = (key: string) =>
        said.find((line) => line.startsWith(`${key} `))?.slice(key.length + 1) ?? 'none';
      const certificate = [
        { what: 'issued by', was: value('directory'), wanted: directory },
        { what: 'for', was: value('names'), wanted: wanted.join(' ') },
        { what: 'valid', was: value('valid'), wanted: 'yes' },
      ].filter(({ was, wanted: right }) => was !== right);
      const inUse = { what: 'HAProxy has it', was: value('served') === 'yes' ? 'yes' : 'no', wanted: 'yes' };
      const differences = [...certificate, inUse].filter(({ was, wanted: right }) => was !== right);
      const issue = command({
        timeoutSeconds: 600,
        failure,
      })`${acmeProgram} issue ${directory} ${email} ${wanted}`;
      return driftOf(differences, [certificate.length > 0 ? issue : command`${acmeProgram} deployed`]);
    },
  };
}
