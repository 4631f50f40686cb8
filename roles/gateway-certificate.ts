import { command } from '../lib/engine/host/step.ts';
import { driftOf, type Resource } from '../lib/engine/resource/resource.ts';
import { role } from '../lib/engine/resource/role.ts';
import { service } from '../lib/engine/resource/system/service.ts';
import { acmeProgram } from '../lib/node/gateway/paths.ts';
import type { AcmeCertificate, Variables } from '../lib/node/variables/variables.ts';

/** The certificate of a gateway by ACME. All gateways answer challenges by now, and the shared address is there. */
export default role<Variables>('gateway-certificate', ({ vars: { gateway } }) =>
  gateway.tls && 'acme' in gateway.tls ? [service('certbot.timer'), issued(gateway.tls)] : [],
);

const failure = {
  what: 'certbot gets no certificate',
  hint: 'the ACME server has to reach port 80 of the gateways by each name; /var/log/letsencrypt/letsencrypt.log has the whole story',
};

function issued({ acme: { directory, email }, names }: AcmeCertificate): Resource {
  const wanted = names.map((name) => name.toLowerCase()).toSorted();
  return {
    name: `HAProxy has a certificate for ${names.join(', ')}, issued by ${new URL(directory).host}`,

    async check(host) {
      const said = (await host.$`${acmeProgram} state`).lines();
      const value = (key: string) => said.find((line) => line.startsWith(`${key} `))?.slice(key.length + 1) ?? 'none';
      const certificate = [
        { what: 'issued by', was: value('directory'), wanted: directory },
        { what: 'for', was: value('names'), wanted: wanted.join(' ') },
        { what: 'valid', was: value('valid'), wanted: 'yes' },
      ].filter(({ was, wanted: right }) => was !== right);
      const inUse = { what: 'HAProxy has it', was: value('served') === 'yes' ? 'yes' : 'no', wanted: 'yes' };
      const differences = [...certificate, inUse].filter(({ was, wanted: right }) => was !== right);
      const issue = command({ timeoutSeconds: 600, failure })`${acmeProgram} issue ${directory} ${email} ${wanted}`;
      return driftOf(differences, [certificate.length > 0 ? issue : command`${acmeProgram} deployed`]);
    },
  };
}
