# shellcheck shell=sh
# Prints what stat says of each path, an empty line, and the number of each link with its target. GNU and busybox know this format.
# %Y has no fraction of a second, so %y is printed too. No name of a user holds a colon.
stat -c '%f %u %g %s %Y %y|%U:%G:%n' -- "$@"
code=$?
echo
number=0
for path do
  if [ -h "$path" ]; then echo "$number $(readlink -- "$path")"; fi
  number=$((number + 1))
done
exit $code
