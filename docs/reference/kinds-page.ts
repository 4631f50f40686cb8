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
  const exports = readFileSync(new URL('kinds.ts', folder), 'utf8').matchAll(/^export \{ (.+) \} from '(.+)';$/gm);
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
      `\`\`\`ts\n${example}\n\`\`\``,
    ].join('\n\n');
  });
  return `${[introduction, ...sections].join('\n\n')}\n`;
}

const introduction = `# Kinds of resources

A role is a list of resources. Each says what a host should have; a check reads it, and a change is made only where something differs.
This page is made from the docstrings (\`npm run reference\`).

\`\`\`ts
import { authorizedKey, packages, role, user } from 'rpc-playbooks/roles';

export default role('operators', () => [
  packages('tmux'),
  user('deploy', { groups: ['docker'] }),
  authorizedKey('deploy', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ… deploy@example.org'),
]);
\`\`\`

Save it as \`roles/operators.ts\` of the project folder, and name it in a play of a playbook there, \`playbooks/operators.mjs\`:

\`\`\`js
import { play, playbook, roles, runPlaybook } from 'rpc-playbooks';

await runPlaybook(
  playbook('operators', 'gives operators access.', [play('operators', { hosts: 'all', roles: await roles('operators') })]),
);
\`\`\`

Run it with \`npx rpc-playbooks operators --inventory NAME\`: it has all options of a deploy. A role imports from \`rpc-playbooks/roles\`,
from packages of the folder, and from files in \`roles/\`. Roles and playbooks run with your rights, so files that others can write to
are refused, and so are a name of ours and an \`await\` outside of a function. In a clone, for a role that becomes ours, the import is \`../lib/engine/resource/kinds.ts\`.`;
