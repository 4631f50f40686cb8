import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { parse, parseDocument } from 'yaml';
import { run as validate } from '../../lib/commands/validate/command.ts';
import { filledInventory } from '../../lib/node/testing/filled-inventory.ts';
import { wrongCommands, wrongFiles, wrongValues } from './wrong-inputs.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** inventory/testnet.yaml with a value in place of each that an operator fills in. */
function validInventory(): string {
  const answers = {
    database: '192.0.2.11',
    rpc: '192.0.2.21',
    password: '../password',
    url: 'http://files.example.org/x',
  };
  return filledInventory(readFileSync(join(root, 'inventory/testnet.yaml'), 'utf8'), answers);
}

/** The valid inventory with one key changed. */
function withValue(key: string, value: string | undefined): string {
  const document = parseDocument(validInventory());
  const path = [...key.matchAll(/"([^"]*)"|[^.]+/g)].map(([word, quoted]) => quoted ?? word);
  if (value === undefined) document.deleteIn(path);
  else document.setIn(path, document.createNode(parse(value)));
  return document.toString({ lineWidth: 0 });
}

/** Splits a command line at spaces, as a shell does with simple quotes. */
const wordsOf = (line: string) =>
  [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, bare]) => single ?? double ?? bare ?? '',
  );

interface Answer {
  readonly input: string;
  readonly code: number | null;
  readonly said: string;
}

/** What each wrong input gives, in a new project folder. */
async function wrongInputAnswers() {
  const folder = mkdtempSync(join(tmpdir(), 'wrong-input-'));
  try {
    mkdirSync(join(folder, 'inventory'));
    const put = (file: string, text: string) => writeFileSync(join(folder, file), text, { mode: 0o600 });
    put('rpc-playbooks.yaml', '');
    put('password', 'Passw0rd-of-an-example');
    put('inventory/one.yaml', validInventory());
    const commands: Answer[] = [];
    const waiting = [...wrongCommands.entries()];
    const work = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift())
        commands[next[0]] = await answer(folder, next[1]);
    };
    await Promise.all([work(), work(), work(), work()]);
    put('inventory/short', 'x');
    const validated = async (input: string, text: string): Promise<Answer> => {
      put('inventory/one.yaml', text);
      const said: string[] = [];
      const say = (line: string) => void said.push(line);
      const code = await validate(['-i', join(folder, 'inventory/one.yaml')], { say, complain: say });
      return { input, code, said: without(folder, said.join('\n')) };
    };
    const inventories: Answer[] = [];
    for (const [key, value] of wrongValues)
      inventories.push(
        await validated(value === undefined ? `without ${key}` : `${key}: ${value}`, withValue(key, value)),
      );
    const files: Answer[] = [];
    for (const [what, text] of wrongFiles) files.push(await validated(what, text));
    const { code, said } = await validated('', validInventory());
    if (code !== 0) throw new Error(`the inventory without a mistake is not valid: ${said}`);
    return { inventories, files, commands };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** As a user without keys, variables and a terminal has it. */
async function answer(folder: string, line: string): Promise<Answer> {
  const script = join(root, 'lib/start/rpc-playbooks.mjs');
  const env = { PATH: process.env.PATH, HOME: folder, NO_COLOR: '1' };
  const child = spawn(process.execPath, [script, ...wordsOf(line)], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const code = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [out, err] = await Promise.all([readText(child.stdout), readText(child.stderr)]);
  return { input: line, code: await code, said: without(folder, `${err}${out}`.trim()) };
}

/** Text without the path of a folder. */
const without = (folder: string, text: string) => text.replaceAll(`${folder}/`, '').replaceAll(folder, '.');

/** docs/wrong-input.md and docs/wrong-commands.md, as a whole. */
export async function wrongInputPages(): Promise<Readonly<Record<string, string>>> {
  const { inventories, files, commands } = await wrongInputAnswers();
  const accepted = [...inventories, ...files, ...commands].filter(({ code }) => code !== 3);
  if (accepted.length > 0)
    throw new Error(`not refused: ${accepted.map(({ input, said }) => `${input}: ${said}`).join('; ')}`);
  const made = `Each mistake is refused before anything is touched, with exit code 3 and a message on standard error.
\`npx zx docs/wrong-input.mjs\` makes each mistake and writes this page, and a test makes the mistakes again. Of a long answer the page has
the first ten lines.`;
  return {
    'wrong-input.md': `# Wrong input

This page has the answers to ${inventories.length + files.length} mistakes in an inventory.
${made} The inventory without the mistake is \`inventory/testnet.yaml\`, filled in, as \`inventory/one.yaml\`.

## Values of an inventory

${table('In the inventory', inventories)}

## Files

${table('File', files)}
`,
    'wrong-commands.md': `# Wrong command lines

This page has the answers to ${commands.length} mistakes in a command line.
${made} The words of the first column follow
\`npx rpc-playbooks\`, in a project folder with the inventory \`one\`.

${table('Command line', commands)}
`,
  };
}

function table(title: string, rows: readonly Answer[]): string {
  const lines = rows.map(({ input, said }) => {
    const all = said.split('\n').filter((line) => line.trim() !== '');
    const shown = [...all.slice(0, 10), ...(all.length > 10 ? ['…'] : [])].map((line) => code(line.trim()));
    return `| ${code(input)} | ${shown.join('<br>')} |`;
  });
  return [`| ${title} | Answer |`, '|---|---|', ...lines].join('\n');
}

/** Text in a cell of a table. */
function code(text: string): string {
  const fence = text.includes('`') ? '``' : '`';
  const space = fence.length > 1 ? ' ' : '';
  return `${fence}${space}${text.replaceAll('|', '\\|')}${space}${fence}`;
}
