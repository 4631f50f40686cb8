/**
 * On hosts, and at the same place in the container state-db, which may only read it
 * (templates/current/docker-compose.database.yml).
 */
export const tlsFolder = '/etc/rpc-node/tls';

/** The authorities that clients on a host trust, in PEM. Anybody may read it. */
export const trustedFile = `${tlsFolder}/ca.pem`;

/**
 * Key and certificate of the database server of a host, in one file: it is replaced as a whole,
 * so that the two always belong together.
 */
export const serverFile = `${tlsFolder}/server.pem`;

/**
 * A file that does not exist: a client without a certificate. Otherwise libpq looks for one in the
 * folder of the user that HOME names. A container's server with HOME of root gets "Permission
 * denied" there, and never connects.
 */
const noCertificate = `${tlsFolder}/no-client-certificate`;

/**
 * The words of a client's connection that verify the database server, in the form of libpq; none
 * where connections are in plain text.
 */
export function verifyingWords({ tls }: { readonly tls?: unknown }): string {
  return tls === undefined ? '' : `sslmode=verify-full sslrootcert=${trustedFile} sslcert=${noCertificate}`;
}
