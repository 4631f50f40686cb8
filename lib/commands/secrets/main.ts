import { outliveOutput } from '../../engine/command-line/closed-pipe.ts';
import { availableKeys } from '../../engine/command-line/unlock.ts';
import { terminal } from '../../engine/output/terminal.ts';
import { inventorySecrets } from '../../node/inventory/database-passwords.ts';
import { passwordCharacters } from '../../node/inventory/inventory.ts';
import { howToChange } from '../../node/inventory/password-change.ts';
import { secretsCommandLine } from './command.ts';
import { editPrivately } from './editor.ts';

/** The command line of secrets, on the passwords that this node's inventories name. */
export function run(args: readonly string[]) {
  outliveOutput();
  return secretsCommandLine(args, {
    wanted: inventorySecrets,
    allowed: passwordCharacters,
    howToChange,
    keys: availableKeys,
    terminal: terminal(),
    edit: editPrivately,
    say: (line) => console.log(line),
    complain: (line) => console.error(line),
  });
}
