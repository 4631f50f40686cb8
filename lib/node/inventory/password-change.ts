import type { DatabasePassword, DatabaseRole } from './database-passwords.ts';

/**
 * The steps for an operator after passwords were rotated: a deploy does not change the password of
 * an existing role.
 *
 * @param secretsCommand makes the secrets command line of this inventory from its arguments
 * @returns lines to print
 */
export function howToChange(
  passwords: readonly DatabasePassword[],
  inventory: string,
  secretsCommand: (words: string) => string,
): readonly string[] {
  const unsure = passwords.some(({ roles }) => roles.some(({ sudo }) => sudo === undefined));
  return [
    'The databases still have the former passwords, and a deploy does not change them: PostgreSQL reads POSTGRES_PASSWORD only',
    'when it creates its data directory. From step 1 to the end of step 2, no new connection to them is possible.',
    '',
    `1. Change them. Show a password, and type it twice into each command below it${
      unsure ? '. Where you do not log in as root, docker needs sudo' : ''
    }:`,
    ...passwords.flatMap(({ name, roles }) => [
      `     ${secretsCommand(`show ${name} --reveal`)}`,
      ...roles.map((role) => `       ${changeCommand(role)}`),
    ]),
    '2. Deploy, which writes them into the configuration and restarts the containers that read it:',
    `     npx zx playbooks/deploy.mjs --inventory ${inventory}`,
    '3. When that has converged, remove the previous ones:',
    `     ${secretsCommand('rotate --done')}`,
  ];
}

/**
 * \password of psql asks without echo and sends a hash: the password is in no command line,
 * history or log.
 */
function changeCommand({ connection, sudo, container, superuser, database, user }: DatabaseRole): string {
  // Without quotes psql reads a name in lower case.
  const name = /^[a-z_][a-z0-9_]*$/.test(user) ? user : `"${user}"`;
  const command = `${sudo ? 'sudo ' : ''}docker exec -it ${container} psql -U ${superuser} -d ${database} -c '\\password ${name}'`;
  return connection === '' ? command : `${connection} "${command.replaceAll('"', '\\"')}"`;
}
