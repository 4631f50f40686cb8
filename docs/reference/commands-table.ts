import { commandGroups } from '../../lib/start/commands.mjs';

const table = /(<!-- table of commands -->\n)[\s\S]*?(?=<!-- end of table -->)/;

/**
 * Fills in the table of all commands in a page again, between `<!-- table of commands -->` and
 * `<!-- end of table -->`.
 *
 * @throws Error where the page has no such place
 */
export function withCommands(page: string): string {
  if (!table.test(page)) throw new Error('the page has no place for the table of commands');
  return page.replace(table, (_, start: string) => `${start}\n${commandsTable()}\n`);
}

/** All commands in groups: each as a line that can be typed, with what it does. */
function commandsTable(): string {
  const groups = commandGroups.map(({ title, commands }) => {
    const rows = commands.map(({ name, sentence, example }) => {
      const line = `npx zx playbooks/${name}.mjs ${example}`.trimEnd();
      return `| \`${line}\` | ${sentence} |`;
    });
    return [`| ${title} | |`, '|---|---|', ...rows, ''].join('\n');
  });
  return groups.join('\n');
}
