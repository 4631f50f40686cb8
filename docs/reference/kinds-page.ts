import { readFileSync } from 'node:fs';

const folder = new URL('../../lib/engine/resource/', import.meta.url);

/** A kind of resource, as its docstring describes it. */
interface Kind {
  readonly name: string;
  readonly text: string;
  /** Each with the name first. */
  readonly parameters: readonly string[];
  readonly example: string;
}

/**
 * The kinds that kinds.ts exports, in its order.
 *
 * @throws Error where one of them has no docstring with an example
 */
function kinds(): Kind[] {
  const exports = readFileSync(new URL('kinds.ts', folder), 'utf8').matchAll(
    /^export \{ (.+) \} from '(.+)';$/gm,
  );
  return [...exports].flatMap(([, names = '', path = '']) => {
    const source = readFileSync(new URL(path, folder), 'utf8');
    return names.split(', ').map((name) => kindIn(source, name));
  });
}

function kindIn(source: string, name: string): Kind {
  const before = source.slice(0, source.indexOf(`\nexport function ${name}(`));
  const comment = before.slice(before.lastIndexOf('/**') + 3).replace(/\*\/\s*$/, '');
  const [text = '', ...tags] = comment.replaceAll(/^ ?\* ?/gm, '').split(/^@/m);
  const tagged = (tag: string) =>
    tags.filter((each) => each.startsWith(`${tag} `)).map((each) => each.slice(tag.length + 1).trim());
  const [example] = tagged('example');
  if (example === undefined) throw new Error(`the docstring of ${name} has no @example`);
  return { name, text: text.trim(), parameters: tagged('param'), example };
}

/** docs/kinds.md, as a whole. */
export function kindsPage(): string {
  const sections = kinds().map(({ name, text, parameters, example }) => {
    const list = parameters.map((parameter) => {
      const [what = '', ...words] = parameter.split(/\s+/);
      return `- \`${what}\`: ${words.join(' ')}`;
    });
    return [
      `## ${name}`,
      text.replaceAll(/\s+/g, ' '),
      ...(list.length > 0 ? [list.join('\n')] : []),
      example.includes('\n') ? `\`\`\`ts\n${example}\n\`\`\`` : `\`${example}\``,
    ].join('\n\n');
  });
  return `${[introduction, ...sections].join('\n\n')}\n`;
}

const introduction = `# Kinds of resources

A [role of your own](own-roles.md) is a list of resources. A resource says what a host should have. Its check reads the host, and a change
is made only where something differs. This page is made from the docstrings (\`npm run reference\`). Below each kind is an example.`;
