import { existsSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Problem } from '../../engine/problem/problem.ts';
import { formatOf } from '../../engine/template/format.ts';
import type { Source } from '../../engine/template/source.ts';
import { syntaxProblem } from '../../engine/template/syntax.ts';
import { generations } from '../variables/generation.ts';
import type { Variables } from '../variables/variables.ts';

const folder = fileURLToPath(new URL('../../../templates', import.meta.url));
const read = new Map<string, ReturnType<typeof readTemplate>>();

/**
 * The text of a generation's template: its own, or the one that it shares with the current generation.
 *
 * @throws Problem for a file that does not exist, or is not valid in its format
 */
export function templateOf(generation: Variables['generation'], name: string) {
  const key = join(generation, name);
  const known = read.get(key) ?? readTemplate(generations[generation].templates, name);
  read.set(key, known);
  return known;
}

function readTemplate(folders: readonly string[], name: string) {
  const candidates = folders.map((each) => join(folder, each, name));
  const file = candidates.find((candidate) => existsSync(candidate));
  if (file === undefined) {
    const missing = join('templates', folders[0] ?? '', name);
    throw new Problem(`the template ${missing} does not exist`, { hint: 'put it back: git checkout templates/' });
  }
  const source: Source = { file: join('templates', relative(folder, file)), format: formatOf(file) };
  const text = readFileSync(file, 'utf8');
  const broken = syntaxProblem(text, source);
  if (broken) throw broken;
  return { text, source };
}
