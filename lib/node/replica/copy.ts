import { readFileSync } from 'node:fs';
import { shellSettings } from '../../engine/host/shell-settings.ts';
import { secretContent } from '../../engine/resource/file/content.ts';
import { directory } from '../../engine/resource/file/directory.ts';
import { file } from '../../engine/resource/file/file.ts';
import { bytesIn, job, jobDirectory } from '../../engine/resource/job/job.ts';
import { drift, expectation, ok, type Resource, refused } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { skipWhen } from '../../engine/resource/skip-when.ts';
import { dataPlaceFunctions, emptyMount, heldIn, isOwnMount, placesOfCopy } from '../databases/data-place.ts';
import { trustedFile, verifyingWords } from '../databases/tls-files.ts';
import { product } from '../server/product.ts';
import { dataFolder } from '../variables/data-folders.ts';
import { databaseHost } from '../variables/hosts.ts';
import type { Variables } from '../variables/variables.ts';
import { unlessItEnds } from './former-server.ts';
import { slotOf } from './slot.ts';

const script = readFileSync(new URL('../../../templates/host/replica-copy.sh', import.meta.url), 'utf8');

const passwordFile = `${jobDirectory}/replica-password`;

/** The data directory is a copy of the server's. Another one is never touched. */
export function serverIsCopied(context: Context<Variables>): Resource[] {
  const { vars } = context;
  const copied = dataIsCopied(context);
  const before = [
    noOtherData(context),
    directory(jobDirectory).mode(0o700),
    file(passwordFile).content(secretContent(`${vars.replica.password?.reveal()}\n`, /./)),
  ];
  return [...before.map((each) => skipWhen(copied, each)), copied];
}

function dataIsCopied(context: Context<Variables>): Resource {
  const { vars, hosts, host } = context;
  const { connection, vars: ofServer } = databaseHost(hosts);
  const data = dataFolder(vars, 'state-db');
  const settings = shellSettings({
    IMAGE: vars.images.database,
    ADDRESS: connection.address,
    PORT: ofServer.ports.state_db,
    SLOT: slotOf(host.name),
    DATABASE: vars.credentials.state.database,
    PASSWORD_FILE: passwordFile,
    DATA: data,
    VERIFYING: verifyingWords(vars),
    TRUSTED: vars.tls ? trustedFile : '',
  });
  return job(`${data} is a copy of the database server`, {
    unit: `${product}-replica-copy`,
    script: settings + dataPlaceFunctions + script,
    done: async (reader) => {
      const [copy, own] = await Promise.all([
        reader.stat(`${data}/standby.signal`),
        reader.stat(`${data}/PG_VERSION`),
      ]);
      if (copy) return ok;
      const absent = drift('there is no copy yet');
      return own ? unlessItEnds(context, absent) : absent;
    },
    progress: (reader) => bytesIn(reader, placesOfCopy(data), 'copying the database server'),
  });
}

function noOtherData(context: Context<Variables>): Resource {
  const data = dataFolder(context.vars, 'state-db');
  const hint = `nothing there is replaced. If it is not needed: docker rm -f state-db, then rename or remove ${data}`;
  return expectation(`no other data is in ${data}`, {
    check: async (reader) => {
      const [held, own, isMount] = await Promise.all([
        heldIn(reader, data),
        reader.stat(`${data}/PG_VERSION`),
        isOwnMount(reader, data),
      ]);
      if (held.length === 0) return ok;
      const way = isMount ? emptyMount(data) : hint;
      const other = refused('it holds data that is not of a replica', way);
      return own ? unlessItEnds(context, other) : other;
    },
  });
}
