package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// timeToEnd is how long the real program waits for its other threads.
const timeToEnd = 5 * time.Second

// fail ends the program as the real one ends: its error, then callers, memory and process, and after a pause exit code 255 (-1). So the
// reason is not among the last lines of its log, and where files are short, more errors follow.
func fail(err error) {
	logLine(os.Stderr, "error", err.Error())
	logLine(os.Stdout, "info", "CALL STACK")
	var callers [32]uintptr
	for i, caller := range callers[:runtime.Callers(1, callers[:])] {
		logLine(os.Stdout, "info", fmt.Sprintf("%d: call=zkProver(%s) [%#x]", i, runtime.FuncForPC(caller).Name(), caller))
	}
	logLine(os.Stdout, "info", memoryInfo())
	if info, err := processInfo(); err != nil {
		logLine(os.Stderr, "error", "printProcessInfo() failed to get process stat info")
	} else {
		logLine(os.Stdout, "info", info)
	}
	time.Sleep(timeToEnd)
	os.Exit(255)
}

// logLine writes a line of JSON. The text is put in unchanged, also with line breaks: then it is no JSON.
func logLine(to *os.File, level, text string) {
	now := time.Now()
	fmt.Fprintf(to, `{"level":"%s","ts":"%d.%06d","msg":"%s","pid":"%d","tid":"%07x","version":"v6.0.2"}`+"\n",
		level, now.Unix(), now.Nanosecond()/1000, text, os.Getpid(), os.Getpid())
}

func memoryInfo() string {
	content, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		logLine(os.Stderr, "error", "Failed to get memory info")
	}
	text := "MEMORY INFO "
	for _, label := range []string{"MemTotal", "MemFree", "MemAvailable", "Buffers", "Cached", "SwapCached", "SwapTotal", "SwapFree"} {
		kilobytes := 0.0
		for _, line := range strings.Split(string(content), "\n") {
			if fields := strings.Fields(line); len(fields) > 1 && fields[0] == label+":" {
				kilobytes, _ = strconv.ParseFloat(fields[1], 64)
			}
		}
		text += fmt.Sprintf("\n    %s: %f MB", label, kilobytes/1024)
	}
	return text
}

func processInfo() (string, error) {
	content, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return "", err
	}
	fields := strings.Fields(string(content))
	return fmt.Sprintf("PROCESS INFO\n    Pid: %s\n    User time: %s\n    Kernel time: %s\n    Num threads: %s", fields[0], fields[13], fields[14], fields[19]), nil
}
