# shellcheck shell=sh
# Prints the first processor in full, number and clock of the others, and the highest clock in kHz if the kernel knows it.
sed -n -e '1,/^$/{' -e p -e d -e '}' -e '/^processor/p' -e '/^cpu MHz/p' /proc/cpuinfo
echo max
cat /sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq 2>/dev/null
exit 0
