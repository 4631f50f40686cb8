import { quote } from '../quote.ts';

/** Seconds between the request to end and the kill. */
export const graceSeconds = 2;

/**
 * Shell functions that end a process and all that it started. Processes are found by their parents in /proc, so neither
 * `timeout` nor `setsid` nor `ps` has to be there; `[0-9]*` sees each process once, and comm may hold spaces and brackets.
 */
export const endTree = `__below(){
for __f in /proc/[0-9]*/stat;do
{ IFS= read -r __x <"$__f";} 2>/dev/null||continue
__y=\${__x##*) };__y=\${__y#* }
[ "\${__y%% *}" = "$1" ]||continue
set -- "$1" "$2\${__x%% *} "
done
for __f in $2;do printf '%s ' "$__f";(__below "$__f" "");done
}
__tree(){ printf '%s ' "$1";__below "$1" "";}`;

/**
 * The script with a time limit of its own. When that is reached, it and all that it started are asked to end and then killed,
 * the code is 124, and the last line of standard error is the nonce with `time limit`. The watcher counts seconds, so that a
 * signal that it should miss (older shells may, on the way into `wait`) costs no more than one.
 */
export function supervise(script: string, seconds: number, nonce: string): string {
  return `${endTree}
exec 3<&0
(exec <&3 3<&-;eval ${quote(script)})&
__p=$!
(trap 'kill -9 $! 2>/dev/null;exit 0' TERM
__i=0
while [ $__i -lt ${Math.ceil(seconds)} ];do
sleep 1&
wait $!
kill -0 $__p||exit 0
__i=$((__i+1))
done
trap '' TERM
__t=$(__tree $__p)
kill -TERM $__t
__i=0
while [ $__i -lt ${graceSeconds} ];do
sleep 1
__a=
for __x in $__t;do kill -0 $__x&&__a=1;done
[ "$__a" ]||exit 9
__i=$((__i+1))
done
kill -KILL $__t
exit 9) </dev/null >/dev/null 2>&1 3<&- &
__w=$!
exec 3<&-
wait $__p
__c=$?
kill $__w 2>/dev/null
wait $__w 2>/dev/null
if [ $? = 9 ];then echo '${nonce} time limit' >&2;exit 124;fi
exit $__c`;
}
