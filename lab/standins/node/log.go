package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

var levels = map[string]int{"debug": 0, "info": 1, "warn": 2, "error": 3, "fatal": 4}

// logger writes one line for each message: JSON in production, columns in development.
type logger struct {
	to         io.Writer
	production bool
	least      int
	version    string
}

// log is the program's only log; it writes to stderr until the configuration is loaded.
var log = logger{to: os.Stderr, least: levels["info"]}

func setUpLog(config LogConfig, version string) error {
	least, known := levels[strings.ToLower(config.Level)]
	if !known {
		return fmt.Errorf("error on setting log level: unrecognized level: %q", config.Level)
	}
	var outputs []io.Writer
	for _, name := range config.Outputs {
		switch name {
		case "stderr":
			outputs = append(outputs, os.Stderr)
		case "stdout":
			outputs = append(outputs, os.Stdout)
		default:
			file, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
			if err != nil {
				return fmt.Errorf("couldn't open sink %q: %w", name, err)
			}
			outputs = append(outputs, file)
		}
	}
	log = logger{to: io.MultiWriter(outputs...), production: config.Environment == "production", least: least, version: version}
	return nil
}

func (l logger) write(level, format string, values ...any) {
	if levels[level] < l.least {
		return
	}
	message := fmt.Sprintf(format, values...)
	l.line(level, message, 3)
}

// line writes one line; skip is the number of callers between it and who logs.
func (l logger) line(level, message string, skip int) {
	now := time.Now().UTC()
	if !l.production {
		fmt.Fprintf(l.to, "%s\t%s\t%s\n", now.Format("2006-01-02T15:04:05.000Z0700"), strings.ToUpper(level), message)
		return
	}
	fields := struct {
		Level   string  `json:"level"`
		Time    float64 `json:"ts"`
		Caller  string  `json:"caller"`
		Message string  `json:"msg"`
		Process int     `json:"pid"`
		Version string  `json:"version"`
		Stack   string  `json:"stacktrace,omitempty"`
	}{level, float64(now.UnixMilli()) / 1000, "", message, os.Getpid(), l.version, ""}
	if _, file, line, ok := runtime.Caller(skip); ok {
		fields.Caller = fmt.Sprintf("%s/%s:%d", filepath.Base(filepath.Dir(file)), filepath.Base(file), line)
	}
	if levels[level] >= levels["error"] {
		fields.Stack = strings.TrimSpace(stack(skip+1, "%[3]s\n\t%[1]s:%[2]d\n"))
	}
	line, _ := json.Marshal(fields)
	fmt.Fprintf(l.to, "%s\n", line)
}

// stack lists the callers, by a format of file, line and function.
func stack(skip int, format string) string {
	var callers [32]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(skip+1, callers[:])])
	var out strings.Builder
	for {
		frame, more := frames.Next()
		fmt.Fprintf(&out, format, frame.File, frame.Line, frame.Function)
		if !more {
			return out.String()
		}
	}
}

func (l logger) debug(format string, values ...any) { l.write("debug", format, values...) }
func (l logger) info(format string, values ...any)  { l.write("info", format, values...) }
func (l logger) warn(format string, values ...any)  { l.write("warn", format, values...) }

// error appends the callers to the values if one of them is an error, although the format has no place for them. So a line then ends in
// %!(EXTRA string= and the callers, as those of the real program do.
func (l logger) error(format string, values ...any) {
	for _, value := range values {
		if _, is := value.(error); is {
			values = append(values, "\n"+stack(2, "%s:%d %s()\n"))
			break
		}
	}
	l.write("error", format, values...)
}

// failed logs an error after a text, and its callers on lines of their own.
func (l logger) failed(text string, err error) {
	l.line("error", text+err.Error()+"\n"+stack(2, "%s:%d %s()\n"), 2)
}

// fatal logs an error with its callers, and ends the program with exit code 1.
func (l logger) fatal(err error) {
	l.line("fatal", err.Error()+"\n"+stack(2, "%s:%d %s()\n"), 2)
	os.Exit(1)
}
