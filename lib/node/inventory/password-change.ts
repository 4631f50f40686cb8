import type { DatabasePassword, DatabaseRole } from './database-passwords.ts';

/**
 * What an operator has to do after passwords were rotated: nothing in a deploy changes the password of a role that there is.
 *
 * @param secretsCommand the command about this inventory's secrets, for the given words
 * @returns lines to print
 */
export function howToChange(
  passwords: readonly DatabasePassword[],
  inventory: string,
  secretsCommand: (words: string) => string,
): readonly string[] {
  const unsure = passwords.some(({ roles }) => roles.some(({ sudo }) => sudo === undefined));
  return [
    'The databases still have the former passwords, and a deploy does not change them: PostgreSQL takes POSTGRES_PASSWORD only',
    'when it makes its data directory. From step 1 until step 2 has ended, nothing new can connect to them.',
    '',
    `1. Change them. Show a password, and give it to each command below it, twice${
      unsure ? '. Where you do not log in as root, docker needs sudo before it' : ''
    }:`,
    ...passwords.flatMap(({ name, roles }) => [
      `     ${secretsCommand(`show ${name} --reveal`)}`,
      ...roles.map((role) => `       ${changeCommand(role)}`),
    ]),
    '2. Deploy, which puts them into the configuration and restarts what reads it:',
    `     npx zx playbooks/deploy.mjs --inventory ${inventory}`,
    '3. When that has converged, forget the former ones:',
    `     ${secretsCommand('rotate --done')}`,
  ];
}

/** psql's own \password asks without echo and sends a hash: the password stands in no command line, history or log. */
function changeCommand({ connection, sudo, container, superuser, database, user }: DatabaseRole): string {
  // Without quotes psql takes a name for lower case.
  const name = /^[a-z_][a-z0-9_]*$/.test(user) ? user : `"${user}"`;
  const command = `${sudo ? 'sudo ' : ''}docker exec -it ${container} psql -U ${superuser} -d ${database} -c '\\password ${name}'`;
  return connection === '' ? command : `${connection} "${command.replaceAll('"', '\\"')}"`;
}
