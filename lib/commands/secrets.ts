import { outliveOutput } from '../cli/closed-pipe.ts';
import { secretsCommandLine } from '../cli/secrets/command.ts';
import { editPrivately } from '../cli/secrets/editor.ts';
import { keysAtHand } from '../cli/secrets/unlock.ts';
import { terminal } from '../cli/terminal.ts';
import { inventorySecrets } from '../node/database-passwords.ts';
import { passwordCharacters } from '../node/inventory.ts';
import { howToChange } from '../node/password-change.ts';

/** The command line of secrets, on the passwords that this node's inventories name. */
export function run(args: readonly string[]) {
  outliveOutput();
  return secretsCommandLine(args, {
    wanted: inventorySecrets,
    allowed: passwordCharacters,
    howToChange,
    keys: keysAtHand,
    terminal: terminal(),
    edit: editPrivately,
    say: (line) => console.log(line),
    complain: (line) => console.error(line),
  });
}
