import { directory } from '../../engine/resource/file/directory.ts';
import { file } from '../../engine/resource/file/file.ts';
import type { Resource } from '../../engine/resource/resource.ts';
import { tlsFolder, trustedFile } from '../databases/tls-files.ts';
import type { Variables } from '../variables/variables.ts';

/** Clients on a host know the authorities that sign the certificates of database servers. */
export function authoritiesAreKnown({ tls }: Variables): Resource[] {
  return tls ? [directory(tlsFolder), file(trustedFile).content(tls.trusted)] : [];
}
