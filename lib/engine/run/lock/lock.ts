import type { Writer } from '../../host/host.ts';
import { isDead, type LockHolder, parseHolder } from './lock-holder.ts';

/** In memory: a reboot ends whatever held it. */
const usualFolder = '/run/rpc-playbooks';

/** A holder that has given no sign of life for so long is taken for dead. Seconds; it gives one every `beat`. */
export const silence = 90;
/** Between two signs of life. Seconds. */
export const beat = 20;

/** What came of asking for a host's lock. */
export type LockAnswer =
  | {
      readonly taken: true /** Seconds since 1970 by the host's clock at which a run last ended there; 0 for never. */;
      readonly lastEnd: number;
    }
  /** Seconds since the holder's last sign of life. */
  | { readonly taken: false; readonly holder: LockHolder | undefined; readonly silent: number };

/** Asks for the lock of a host: one directory, which can be made only once. That of a holder known to be dead is taken over. */
export async function takeLock(host: Writer, own: LockHolder, folder = usualFolder): Promise<LockAnswer> {
  const answer = await ask(host, own, folder);
  if (answer.taken || !answer.holder || !isDead(answer.holder)) return answer;
  await breakLock(host, answer.holder, folder);
  return ask(host, own, folder);
}

async function ask(host: Writer, own: LockHolder, folder: string): Promise<LockAnswer> {
  const output = await host.run({ stdin: JSON.stringify(own) })`
    umask 077
    mkdir -p ${folder} && cd ${folder} || exit 1
    if mkdir lock 2>/dev/null; then
      # Without its holder nobody could ever give it back.
      cat > lock/holder && [ -s lock/holder ] || { rm -rf lock; echo "$PWD cannot be written" >&2; exit 1; }
      echo taken
      stat -c %Y last 2>/dev/null || echo 0
    elif [ -d lock ]; then
      echo held
      echo $(( $(date +%s) - $(stat -c %Y lock/holder 2>/dev/null || date +%s) ))
      [ ! -f lock/holder ] || head -c 4096 lock/holder
    else
      mkdir lock
      exit 1
    fi`;
  const [state, number = '0', ...rest] = output.stdout.split('\n');
  if (state === 'taken') return { taken: true, lastEnd: Number(number) };
  return { taken: false, holder: parseHolder(rest.join('\n')), silent: Number(number) };
}

/** Takes a lock away from its holder, if it is still his. Renamed first: of two that try, one does it. */
export async function breakLock(host: Writer, holder: LockHolder | undefined, folder = usualFolder): Promise<void> {
  await host.run`
    cd ${folder} || exit 0
    if [ ${holder?.token ?? ''} ]; then
      grep -qF ${holder?.token ?? ''} lock/holder || exit 0
    else
      # One that is just being taken has no holder yet. One that nobody can read is nobody's.
      [ $(( $(date +%s) - $(stat -c %Y lock || date +%s) )) -gt 10 ] || exit 0
    fi
    mv lock "broken-$$" 2>/dev/null && rm -rf "broken-$$" || :`;
}

/** Gives a sign of life. @returns false where the lock has been taken away */
export async function beatLock(host: Writer, own: LockHolder, folder = usualFolder): Promise<boolean> {
  const output = await host.run({ allow: [0, 1, 2] })`
    cd ${folder} && grep -qF ${own.token} lock/holder && touch lock/holder`;
  return output.ok;
}

/** Gives the lock back, and notes that a run ended here. */
export async function releaseLock(host: Writer, own: LockHolder, folder = usualFolder): Promise<void> {
  await host.run`
    cd ${folder} || exit 0
    grep -qF ${own.token} lock/holder 2>/dev/null || exit 0
    touch last
    rm -rf lock`;
}
