import { existsSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Problem } from '../../engine/problem/problem.ts';
import { formatOf } from '../../engine/template/format.ts';
import type { Source } from '../../engine/template/source.ts';
import { syntaxProblem } from '../../engine/template/syntax.ts';
import { generations } from '../variables/generation.ts';
import type { Variables } from '../variables/variables.ts';

/** A template as it stands under `templates/`. */
export interface Template {
  readonly text: string;
  readonly source: Source;
}

const folder = fileURLToPath(new URL('../../../templates', import.meta.url));
const read = new Map<string, Template>();

/**
 * The template of a generation; what a generation does not have of its own, it shares with the current one.
 *
 * @throws Problem where it is not there, or no valid file of its format
 */
export function templateOf(generation: Variables['generation'], name: string): Template {
  const key = join(generation, name);
  const known = read.get(key) ?? readTemplate(generation, name);
  read.set(key, known);
  return known;
}

function readTemplate(generation: Variables['generation'], name: string): Template {
  const candidates = generations[generation].templates.map((each) => join(folder, each, name));
  const file = candidates.find((candidate) => existsSync(candidate));
  if (file === undefined) {
    const missing = join('templates', generations[generation].templates[0] ?? '', name);
    throw new Problem(`the template ${missing} does not exist`, { hint: 'put it back: git checkout templates/' });
  }
  const shown = join('templates', relative(folder, file));
  const template = { text: readFileSync(file, 'utf8'), source: { file: shown, format: formatOf(file) } };
  const broken = syntaxProblem(template.text, template.source);
  if (broken) throw broken;
  return template;
}
