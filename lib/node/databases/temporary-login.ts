import type { Reader, SqlTarget } from '../../engine/host/host.ts';
import { command, type Step } from '../../engine/host/step.ts';
import { eventually } from '../../engine/resource/job/eventually.ts';
import {
  drift,
  expectation,
  ok,
  type Resource,
  unknownUntil,
  type Verdict,
} from '../../engine/resource/resource.ts';
import { Secret } from '../../engine/secret/secret.ts';
import { hasFormer } from '../variables/rotation.ts';
import {
  type Answer,
  answersOf,
  type Deployment,
  formerLogins,
  type Login,
  loginsOf,
  type RunParts,
  refusedInPart,
  silenceOf,
  withoutClient,
  wordsOf,
} from './log-in.ts';
import { sqlLiteral } from './postgres.ts';

/**
 * PostgreSQL keeps one password for a role. So that no server is without a valid one while they
 * change one after the other, each role gets a second login for that time, with the new password
 * and the same rights (docs/reasons.md has what was rejected).
 */
export const temporaryUser = (of: Login['of']): string => `rpc_node_${of}_next`;

/** The effects in a plan, in the words of `changes` and `follows`. */
const loginsMade = 'temporary logins';

/** A login by the temporary role. */
function temporaryOf(login: Login): Login {
  return { ...login, credentials: { ...login.credentials, user: temporaryUser(login.of) } };
}

/**
 * Judges a step of a rotation by the logins whose password has to be changed: the server refuses
 * the new one, and accepts the one from before the rotation. A server that does not answer may be
 * one of them, so that the verdict is unknown until it does: else the password of programs that
 * still use it would be changed.
 */
export async function whileChanging(
  host: Reader,
  deployment: Deployment,
  of: readonly Login['of'][],
  judge: (changing: readonly Login[]) => Verdict | Promise<Verdict>,
): Promise<Verdict> {
  const rotated = loginsOf(deployment).filter(
    (login) => of.includes(login.of) && login.credentials.password.former,
  );
  if (rotated.length === 0) return judge([]);
  const tried = [...rotated, ...formerLogins(rotated)];
  const [answers, unused] = await Promise.all([
    answersOf(host, tried, deployment.vars),
    Promise.all(tried.map((login) => isUnused(host, login))),
  ]);
  const used = tried.filter((_, at) => !unused[at]);
  if (used.length > 0 && !answers) return withoutClient;
  const silence = silenceOf(
    used,
    (answers ?? []).filter((_, at) => !unused[at]),
  );
  if (silence) return silence;
  const isRefused = (answer: Answer | undefined) => typeof answer === 'object' && 'refusal' in answer;
  return judge(
    rotated.filter((_, at) => isRefused(answers?.[at]) && answers?.[rotated.length + at] === 'accepted'),
  );
}

/**
 * Whether a database is not deployed yet, as far as its host knows: it has no container of its
 * server, or for one elsewhere, none that uses it.
 */
async function isUnused(host: Reader, { server, address }: Login): Promise<boolean> {
  const containers = address === '127.0.0.1' ? [server] : ['prover', 'json-rpc'];
  const states = await Promise.all(containers.map((name) => host.container(name)));
  return states.every((state) => state === undefined);
}

/** SQL that no log of the server shows. Any database of the server will do. */
function secretly(target: SqlTarget, statements: readonly string[]): Step {
  const sql = [
    "set log_statement = 'none';",
    'set log_min_duration_statement = -1;',
    "set log_min_error_statement = 'panic';",
    'begin;',
    ...statements,
    'commit;',
    '',
  ].join('\n');
  return command({ stdin: new Secret(sql) })`
    docker exec -i ${target.container} psql -XAtq -v ON_ERROR_STOP=1 -U ${target.user} -d ${target.database}`;
}

/** An SQL identifier. */
const name = (text: string) => `"${text.replaceAll('"', '""')}"`;

/**
 * A second login of a role: a member of the role that becomes it at once, so that all that it makes
 * belongs to the role, with the settings of the role.
 */
function beginning({ of, credentials: { user, password } }: Login): string {
  const other = temporaryUser(of);
  const owner = sqlLiteral(user);
  return `select 'create role ${other}' where not exists (select 1 from pg_roles where rolname = '${other}') \\gexec
alter role ${other} login password ${sqlLiteral(password.reveal())};
grant ${name(user)} to ${other};
-- A list is kept as it is written in SQL.
select format(case when setting ^@ 'search_path=' then 'alter role %s set %I = %s' else 'alter role %s set %I = %L' end,
    '${other}', split_part(setting, '=', 1), substr(setting, strpos(setting, '=') + 1))
  from pg_db_role_setting s join pg_roles r on r.oid = s.setrole, unnest(setconfig) setting
  where r.rolname = ${owner} \\gexec
alter role ${other} set role = ${owner};`;
}

/** The databases have the temporary logins of the roles whose passwords have to be changed. */
export function temporaryLoginsAreThere(
  deployment: Deployment & RunParts,
  of: readonly Login['of'][],
  target: SqlTarget,
): Resource {
  return {
    name: `${of.join(' and ')} database have a second login with the new password`,
    changes: () => [loginsMade],
    check: (host) =>
      whileChanging(host, deployment, of, async (changing) => {
        if (changing.length === 0) return ok;
        const inPart = refusedInPart(deployment, changing);
        if (inPart) return inPart;
        const answers = await answersOf(host, changing.map(temporaryOf), deployment.vars);
        const missing = changing.filter((_, at) => answers?.[at] !== 'accepted');
        if (missing.length === 0) return ok;
        const differences = missing.map((login) => ({
          what: `second login of ${login.credentials.user}`,
          was: 'absent',
          wanted: temporaryUser(login.of),
        }));
        return drift(differences, [secretly(target, missing.map(beginning))]);
      }),
  };
}

/** A host can use the temporary logins, also where a replica gets them a moment later. */
export function temporaryLoginsAreAccepted(deployment: Deployment, of: readonly Login['of'][]): Resource {
  const check = (host: Reader) =>
    whileChanging(host, deployment, of, async (changing) => {
      if (changing.length === 0) return ok;
      const answers = await answersOf(host, changing.map(temporaryOf), deployment.vars);
      return answers?.every((answer) => answer === 'accepted')
        ? ok
        : unknownUntil(`the second login of the ${of.join(' and ')} database is accepted here`);
    });
  const hint = 'a replica gets it with the log of the server: see status.mjs';
  return eventually('the second logins are accepted', check, { seconds: 120, hint });
}

/** The roles have the new passwords. Nobody logs in as them by now. */
export function passwordsAreChanged(
  deployment: Deployment & RunParts,
  of: readonly Login['of'][],
  target: SqlTarget,
): Resource {
  return {
    name: `${of.join(' and ')} database have the new passwords`,
    check: (host) =>
      whileChanging(host, deployment, of, (changing) => {
        if (changing.length === 0) return ok;
        const differences = changing.map(({ credentials: { user } }) => ({
          what: `password of ${user}`,
          was: 'the former one',
          wanted: 'the new one',
        }));
        const statements = changing.map(
          ({ credentials: { user, password } }) =>
            `alter role ${name(user)} password ${sqlLiteral(password.reveal())};`,
        );
        return refusedInPart(deployment, changing) ?? drift(differences, [secretly(target, statements)]);
      }),
  };
}

/** A host can log in with the new passwords, also where a replica gets them a moment later. */
export function newPasswordsAreAccepted(deployment: Deployment, of: readonly Login['of'][]): Resource {
  const check = (host: Reader) =>
    whileChanging(host, deployment, of, (changing) =>
      changing.length === 0 ? ok : unknownUntil(`${wordsOf(changing)} is changed`),
    );
  const hint = 'a replica gets it with the log of the server: see status.mjs';
  return eventually('the new passwords are accepted', check, { seconds: 120, hint });
}

/**
 * The temporary logins of a database container that are left, by their names; none where it does
 * not answer.
 */
export async function temporaryLoginsOn(host: Reader, target: SqlTarget): Promise<readonly string[]> {
  const query = "select rolname from pg_roles where rolname ^@ 'rpc_node_' and rolname ~ '_next$' order by 1";
  const answer = await host.sql(target, query);
  return answer.ok ? answer.rows.flatMap(([role]) => role ?? []) : [];
}

/**
 * The temporary logins that no program uses: without the former passwords nobody knows which
 * programs have moved, so that a login with a session is left, and named by `status`.
 */
async function unusedLoginsOn(host: Reader, target: SqlTarget): Promise<readonly string[]> {
  const query = `select rolname from pg_roles r where rolname ^@ 'rpc_node_' and rolname ~ '_next$'
    and not exists (select from pg_stat_activity where usesysid = r.oid) order by 1`;
  const answer = await host.sql(target, query);
  return answer.ok ? answer.rows.flatMap(([role]) => role ?? []) : [];
}

/** Whether a host logs in to all of these databases as the usual roles. */
async function usualLoginsAreAccepted(
  host: Reader,
  deployment: Deployment,
  of: readonly Login['of'][],
): Promise<boolean> {
  const usual = loginsOf(deployment).filter((login) => of.includes(login.of));
  const answers = await answersOf(host, usual, deployment.vars);
  return answers?.every((answer) => answer === 'accepted') ?? false;
}

/**
 * No temporary login is left. During a rotation it is dropped when every server has moved back;
 * after `rotate --done` where also the usual logins are accepted, and no program uses it.
 *
 * @param isOver whether every server that may use one is part of the run
 */
export function temporaryLoginsAreGone(
  deployment: Deployment,
  of: readonly Login['of'][],
  target: SqlTarget,
  isOver: boolean,
): Resource {
  return {
    name: `${of.join(' and ')} database have no second login`,
    follows: [{ what: loginsMade, effect: 'is checked again', certain: true }],
    async check(host) {
      const isDone = !hasFormer(deployment.vars);
      const left = isDone ? unusedLoginsOn(host, target) : temporaryLoginsOn(host, target);
      return whileChanging(host, deployment, of, async (changing) => {
        const roles = await left;
        if (roles.length === 0 || changing.length > 0 || !isOver) return ok;
        if (isDone && !(await usualLoginsAreAccepted(host, deployment, of)))
          return unknownUntil(`the usual logins of the ${of.join(' and ')} database are accepted`);
        const differences = roles.map((role) => ({ what: role, was: 'may log in', wanted: 'absent' }));
        const statements = roles.map((role) => `drop role ${name(role)};`);
        return drift(differences, [secretly(target, statements)]);
      });
    },
  };
}

/** Reminds the operator of former passwords that no database has any more. */
export function formerPasswordsAreGone(deployment: Deployment, isOver: boolean): readonly Resource[] {
  if (!hasFormer(deployment.vars) || !isOver) return [];
  const logins = loginsOf(deployment);
  return [
    expectation('the file of secrets has no former passwords', {
      severity: 'should',
      check: async (host) => {
        const answers = await answersOf(host, [...logins, ...logins.map(temporaryOf)], deployment.vars);
        const isDone = logins.every(
          (_, at) => answers?.[at] === 'accepted' && answers[logins.length + at] !== 'accepted',
        );
        return isDone ? drift('every server uses the new passwords, and the former ones are kept') : ok;
      },
      hint: 'when this run has converged, remove them: secrets.mjs rotate --done',
    }),
  ];
}
