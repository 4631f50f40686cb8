import { existsSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { hintOfUnread, readBounded, whyUnread } from '../../engine/file/bounded-file.ts';
import { Problem } from '../../engine/problem/problem.ts';
import { formatOf } from '../../engine/template/format.ts';
import type { Source } from '../../engine/template/source.ts';
import { syntaxProblem } from '../../engine/template/syntax.ts';
import { installation, projectFolder } from '../project/project-folder.ts';
import { generations } from '../variables/generation.ts';
import type { Variables } from '../variables/variables.ts';

/** The longest of ours has a hundredth of this. Bytes. */
const largest = 1024 * 1024;
/** A template of the team's own folder has priority over ours. */
const templateFolders = [...new Set([projectFolder, installation])].map((folder) =>
  join(folder, 'templates'),
);
const read = new Map<string, ReturnType<typeof readTemplate>>();

/**
 * The text of a generation's template: its own, or the one that it shares with the current
 * generation.
 *
 * @throws Problem for a file that does not exist, or is not valid in its format
 */
export function templateOf(generation: Variables['generation'], name: string) {
  const key = join(generation, name);
  const known = read.get(key) ?? readTemplate(generations[generation].templates, name);
  read.set(key, known);
  return known;
}

/**
 * The Compose template for a host: that of its group, or for a host of two groups the first one
 * with the services that only the second one has. A replica has that of the Database+Sync server,
 * with its state-db alone.
 *
 * @param groups of the host; the Database+Sync server's comes first in the alphabet
 * @throws Problem as templateOf does
 */
export function composeTemplateOf(generation: Variables['generation'], groups: readonly string[]) {
  const isReplica = groups.includes('replica');
  const names = isReplica ? ['database'] : groups.filter((group) => group !== 'gateway').toSorted();
  const [first, second] = names.map((group) => templateOf(generation, `docker-compose.${group}.yml`));
  if (!first) throw new TypeError('a host is in a group');
  if (isReplica) {
    const [, head = ''] = /^(?:#.*\n)*([\s\S]*?\nservices:\n)/.exec(first.text) ?? [];
    const stateDb = services(first.text).find(([, name]) => name === 'state-db')?.[0] ?? '';
    return {
      ...first,
      text: `# A replica: state-db as on the Database+Sync server.\n${head}${stateDb.trimEnd()}\n`,
    };
  }
  if (!second) return first;
  const known = new Set(services(first.text).map(([, name]) => name));
  const added = services(second.text).flatMap(([text, name]) => (known.has(name) ? [] : text.trimEnd()));
  return { ...first, text: [first.text.trimEnd(), ...added, ''].join('\n\n').replace(/\n+$/, '\n') };
}

const services = (text: string) => [...text.slice(text.indexOf('\nservices:\n')).matchAll(service)];

/**
 * One service of a Compose template, with its name: two spaces before it, and more before its
 * keys.
 */
const service = /^ {2}([\w-]+):\n(?:(?: {3}.*)?\n)*/gm;

function readTemplate(folders: readonly string[], name: string) {
  const candidates = templateFolders.flatMap((folder) => folders.map((each) => join(folder, each, name)));
  const file = candidates.find((candidate) => existsSync(candidate));
  if (file === undefined) {
    const missing = join('templates', folders[0] ?? '', name);
    throw new Problem(`the template ${missing} does not exist`, {
      hint: 'put the template back: git checkout templates/',
    });
  }
  const source: Source = { file: shownTemplate(file), format: formatOf(file) };
  const text = textOf(file);
  const broken = syntaxProblem(text, source);
  if (broken) throw broken;
  return { text, source };
}

/** Our own are part of the program that runs. In a clone all templates are the team's. */
function textOf(file: string): string {
  if (!file.startsWith(projectFolder + sep)) return readFileSync(file, 'utf8');
  try {
    return readBounded(file, largest).toString('utf8');
  } catch (error) {
    throw new Problem(`${file} ${whyUnread(error)}`, { hint: hintOfUnread(error) });
  }
}

/** `templates/…` of ours; the path of a team's own. */
function shownTemplate(file: string): string {
  const inside = relative(installation, file);
  return inside.startsWith('..') ? file : inside;
}
