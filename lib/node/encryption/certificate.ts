import type { Reader, Writer } from '../../engine/host/host.ts';
import { command } from '../../engine/host/step.ts';
import { Failure } from '../../engine/problem/problem.ts';
import {
  changesOfFile,
  checkedAgainAfter,
  drift,
  fileChange,
  ok,
  type Resource,
  unknownUntil,
  type Work,
} from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { stateDatabase } from '../databases/databases.ts';
import { serverFile, tlsFolder } from '../databases/tls-files.ts';
import type { Authority, Variables } from '../variables/variables.ts';
import { endingOf, isOfAnother, unfitFor } from './fitness.ts';
import { namesOfServer } from './names.ts';
import { newServerCertificate } from './openssl.ts';

/** Root's, and read by the group of PostgreSQL in the container: it refuses a key with more. */
const mode = 0o640;

/** Until the user postgres has read it. */
const newFile = `${serverFile}.new`;

/** The certificate of a host's database server as its file has it, without the key. */
export async function readServerCertificate(host: Reader): Promise<string> {
  return (await host.$`sed -n '/BEGIN CERTIFICATE/,/END CERTIFICATE/p' ${serverFile}`).stdout;
}

/**
 * The database server of a host has a certificate for the names by which clients reach it. Key and
 * certificate are made and signed on this machine: no host ever has the authority's key.
 */
export function serverCertificate({ host, vars, release }: Context<Variables>, tls: Authority): Work {
  const wanted = { issuer: tls.certificate, names: namesOfServer(host) };
  const { group_id } = vars.state_db;
  return {
    name: `state-db has a certificate for ${wanted.names[0]}`,
    changes: changesOfFile(serverFile),

    async check(reader) {
      const [stat, text] = await Promise.all([reader.stat(serverFile), readServerCertificate(reader)]);
      if (!stat) return drift([{ what: 'certificate', was: 'absent', wanted: wanted.names.join(', ') }]);
      // A rollback does not bring a new authority to the clients.
      if (release && isOfAnother(text, tls.certificate)) return ok;
      const why = unfitFor(text, wanted, Date.now());
      if (why !== undefined) return drift(why);
      if (endingOf(text).renew <= Date.now())
        return drift(`it ends on ${new Date(endingOf(text).end).toISOString().slice(0, 10)}`);
      const isReadable = stat.uid === 0 && stat.gid === group_id && stat.mode === mode;
      return isReadable ? ok : drift(`its owner and mode are not root, group ${group_id} and 0640`);
    },

    async work(writer) {
      const content = await newServerCertificate(tls, wanted.names);
      await writer.run({ stdin: content })`
        umask 077
        cat >${newFile} && chgrp ${group_id} ${newFile} && chmod 0640 ${newFile} && sync ${newFile}`;
      await provedReadable(writer, vars);
      await writer.run`mv ${newFile} ${serverFile}`;
    },
  };
}

/**
 * PostgreSQL does not start with a key that it cannot read: this is known before it is restarted.
 *
 * @throws Failure where the user postgres of the image cannot read it
 */
async function provedReadable(writer: Writer, { images, state_db }: Variables): Promise<void> {
  const mounted = `${tlsFolder}:${tlsFolder}:ro`;
  const read =
    await writer.$`docker run --rm --network none --user postgres --volume ${mounted} --entrypoint cat ${images.database} ${newFile} 2>&1 >/dev/null`;
  if (read.ok) return;
  await writer.run`rm -f ${newFile}`;
  throw new Failure(
    `the user postgres of ${images.database} cannot read its key, which group ${state_db.group_id} may read: ${read.text()}`,
    {
      hint: 'set state_db.group_id to the group of the user postgres in that image: 999, or 70 in an image of Alpine',
    },
  );
}

/** The running server presents the certificate of its file. A reload is enough, and cuts nobody off. */
export function certificateIsInUse({ vars }: Context<Variables>): Resource {
  const resource: Resource = {
    name: 'state-db presents its certificate',
    follows: [{ what: fileChange(serverFile), effect: 'is reloaded', certain: true }],
    async check(host) {
      const [stat, answer] = await Promise.all([
        host.stat(serverFile),
        host.sql(
          stateDatabase(vars),
          "select current_setting('ssl'), extract(epoch from pg_conf_load_time())",
        ),
      ]);
      if (!stat || !answer.ok) return unknownUntil('state-db runs with its certificate');
      const [ssl, loaded] = answer.rows[0] ?? [];
      if (ssl !== 'on') return drift('it runs without encryption: its Compose file has no ssl=on');
      const reload = command`docker kill --signal HUP state-db >/dev/null; sleep 1`;
      return Number(loaded) >= stat.modified ? ok : drift('it has read an earlier one', [reload]);
    },
  };
  const after = checkedAgainAfter(resource, 'state-db').follows ?? [];
  return { ...resource, follows: [...(resource.follows ?? []), ...after] };
}
