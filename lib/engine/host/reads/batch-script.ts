import { quote } from '../quote.ts';
import { endTree, graceSeconds } from '../transport/supervise.ts';

/** One command of a batch: its text for sh, and how long it may take. */
export interface BatchCommand {
  readonly text: string;
  readonly timeoutSeconds: number;
}

/** Commands that run at once on a host: enough that waiting for one engine or server does not hold up the rest. */
const lanes = 4;

/**
 * Where what commands print is kept until it is sent. Memory first: it works with a full disk and is never mounted read-only.
 * Where that was not enough, disks first. Nothing is executed there, so noexec does not matter.
 */
const places = { quick: '/dev/shm /run /tmp /var/tmp', careful: '/var/tmp /tmp /run /dev/shm' };

/** The exit code of a batch for whose output there was no room. */
export const noRoom = 75;

/**
 * One script that runs all commands, each in a subshell with its own exit code, standard output, standard error and time limit,
 * and with nothing on its standard input; `readFrames` reads its reply. It leaves nothing behind, on whatever way it ends.
 *
 * @param way careful sends each file up to its announced size and no further, at the cost of a process for each
 */
export function batchScript(commands: readonly BatchCommand[], way: 'quick' | 'careful'): string {
  const laneCount = Math.min(lanes, commands.length);
  const laneScripts = Array.from({ length: laneCount }, (_, lane) => laneScript(commands, lane, laneCount));
  const files = ['codes', ...commands.flatMap((_, index) => [`o${index + 1}`, `e${index + 1}`])];
  return `${endTree}
__d=
for __b in ${places[way]};do
__d=$(mktemp -d "$__b/rpc-playbooks.XXXXXX" 2>/dev/null)||continue
{ echo 0 0 0 >"$__d/codes";} 2>/dev/null&&break
rm -rf "$__d";__d=
done
if [ -z "$__d" ];then echo 'no room for temporary files in ${places[way]}' >&2;exit ${noRoom};fi
__l=
__run(){
(__x=$3;set --;eval "$__x") >"$__d/o$1" 2>"$__d/e$1" </dev/null &
__p=$!
echo "$1 $__p $2" >"$__d/lane$__n"
wait $__p
__c=$?
__t=0
[ -e "$__d/late$1" ]&&__t=1
echo "$1 $__c $__t" >>"$__d/codes"
}
${watcher(laneCount)}
${laneScripts.join('\n')}
${cleanup}
for __x in $__l;do wait $__x 2>/dev/null;done
kill $__w 2>/dev/null
cd "$__d"||exit ${noRoom}
# Where nothing more can be written, what commands printed may be cut off.
printf %8192s . >probe||exit ${noRoom}
set -- ${files.join(' ')}
${way === 'careful' ? sendCarefully : 'wc -c "$@" 2>/dev/null;cat "$@" 2>/dev/null'}
exit 0`;
}

/**
 * Set only now: a signal that meets a new subshell before it has dropped its parent's traps is lost. The watcher is not waited
 * for, and ends with the directory, whatever becomes of its signal.
 */
const cleanup = `trap 'rm -rf "$__d"' EXIT
trap 'for __x in $__w $__l;do kill $(__tree $__x);done 2>/dev/null;exit 129' HUP INT TERM PIPE`;

const sendCarefully = `wc -c "$@" >sizes 2>/dev/null
cat sizes
while read -r __x __f;do [ "$__f" = total ]||head -c "$__x" "$__f";done <sizes`;

/** A lane runs its commands one after another. Commands are dealt out in turn, so the first of the batch start first. */
function laneScript(commands: readonly BatchCommand[], lane: number, laneCount: number): string {
  const runs = commands.flatMap(({ text, timeoutSeconds }, index) =>
    index % laneCount === lane ? [`__run ${index + 1} ${Math.ceil(timeoutSeconds)} ${quote(text)}`] : [],
  );
  return `(__n=${lane}
${runs.join('\n')}
echo >"$__d/lane$__n") </dev/null >/dev/null 2>&1 &
__l="$__l $!"`;
}

/**
 * Looks once a second at what each lane is busy with, so that quick commands cost nothing. What took too long is asked to end,
 * with all that it started, and killed if it does not.
 */
function watcher(laneCount: number): string {
  const numbers = Array.from({ length: laneCount }, (_, lane) => lane).join(' ');
  return `(trap 'kill -9 $! 2>/dev/null;exit 0' TERM
while [ -d "$__d" ];do
sleep 1&
wait $!
for __n in ${numbers};do
{ read -r __i __p __m <"$__d/lane$__n";} 2>/dev/null||continue
[ "$__i" ]||continue
eval "__o=\\$__i$__n __a=\\$__a$__n __k=\\$__k$__n"
if [ "$__o" != "$__i" ];then __a=0;fi
__a=$((__a+1))
if [ $__a = $__m ];then
: >"$__d/late$__i"
__k=$(__tree $__p)
kill -TERM $__k
elif [ $__a = $((__m+${graceSeconds})) ];then
kill -KILL $__k $(__tree $__p)
fi
eval "__i$__n=\\$__i __a$__n=\\$__a __k$__n=\\$__k"
done
done) </dev/null >/dev/null 2>&1 &
__w=$!`;
}
