import { Problem } from '../../engine/problem/problem.ts';
import { newPassword } from '../../engine/secret/password.ts';
import { changeSecretValues, parseSecretValues, type SecretValues } from '../../engine/secret/secret-values.ts';
import { didYouMean } from '../../engine/text/suggest.ts';
import { lockFor, type Store, store } from './store.ts';
import { put, refuseUnknown, sayWhatRefersElsewhere, type Task, type WantedPassword } from './task.ts';

/**
 * Makes new passwords, and keeps the former ones until the databases have taken the new.
 *
 * @throws Problem, Problems
 */
export async function rotate<P extends WantedPassword>(task: Task<P>): Promise<void> {
  const { file, around, options } = task;
  const held = await store(file, task.keys);
  const values = parseSecretValues(held.text, file, task.allowed);
  if (options.done) return forget(task, held, values);
  const names =
    options.names.length > 0
      ? options.names
      : task.passwords.map(({ name }) => name).filter((name) => values.current.has(name));
  refuseUnknown(names, values, task);
  const chosen = task.passwords.filter(({ name }) => names.includes(name));
  const foreign = names.find((name) => !chosen.some((each) => each.name === name));
  if (foreign !== undefined) {
    throw new Problem(`${foreign} is no password of a database`, {
      hint: `change it where it is used, then here: ${task.command('edit')}`,
    });
  }
  if (chosen.length === 0)
    throw new Problem(`${file} has no password of a database`, { hint: task.command('generate') });
  const again = names.filter((name) => values.previous.has(name));
  if (again.length > 0) {
    throw new Problem(`the former value of ${again.join(', ')} is still kept: a database may still have it`, {
      hint: `when the databases have the new ones: ${task.command('rotate --done')}`,
    });
  }
  const lock = await lockFor(held, task.keys, around.terminal);
  const text = changeSecretValues(held.text, {
    current: new Map(names.map((name) => [name, newPassword()])),
    previous: new Map(names.map((name) => [name, values.current.get(name)])),
  });
  await put(task, held, text, lock);
  for (const name of names) around.say(`new ${name}; the former value is kept under previous`);
  const used = chosen.filter(({ roles }) => roles.length > 0);
  if (used.length > 0) {
    around.say('');
    for (const line of around.howToChange(used, options.inventory, task.command)) around.say(line);
  }
  sayWhatRefersElsewhere({ ...task, passwords: chosen });
}

async function forget<P extends WantedPassword>(task: Task<P>, held: Store, { previous }: SecretValues): Promise<void> {
  const { around, options } = task;
  const names = options.names.length > 0 ? options.names : [...previous.keys()];
  const unknown = names.find((name) => !previous.has(name));
  if (unknown !== undefined)
    throw new Problem(`no former value of ${unknown} is kept`, { hint: didYouMean(unknown, previous.keys()) });
  if (names.length === 0) return around.say('nothing to forget: no former value is kept');
  const lock = await lockFor(held, task.keys, around.terminal);
  const text = changeSecretValues(held.text, { previous: new Map(names.map((name) => [name, undefined])) });
  await put(task, held, text, lock);
  for (const name of names) around.say(`forgot the former value of ${name}`);
}
