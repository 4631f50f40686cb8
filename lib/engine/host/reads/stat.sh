# shellcheck shell=sh
# Prints the output of stat for each path, an empty line, and the number of each link with its target. For GNU and busybox.
# %Y has no fraction of a second, so %y is printed too. No user name contains a colon.
stat -c '%f %u %g %s %Y %y|%U:%G:%n' -- "$@"
code=$?
echo
number=0
for path do
  if [ -h "$path" ]; then echo "$number $(readlink -- "$path")"; fi
  number=$((number + 1))
done
exit $code
