package main

import (
	"os"
	"strings"
)

// flagsVariable replaces the processor's flags, to test a machine that lacks some.
const flagsVariable = "STANDIN_CPU_FLAGS"

// missingFlags are the instruction sets that the prover is compiled for and this processor lacks.
func missingFlags() []string {
	flags, given := os.LookupEnv(flagsVariable)
	if !given {
		flags = processorFlags()
	}
	has := map[string]bool{}
	for _, flag := range strings.Fields(flags) {
		has[flag] = true
	}
	var missing []string
	for _, flag := range []string{"avx2", "bmi2", "adx"} {
		if !has[flag] {
			missing = append(missing, flag)
		}
	}
	return missing
}

func processorFlags() string {
	content, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for _, line := range strings.Split(string(content), "\n") {
		if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "flags" {
			return value
		}
	}
	return ""
}
