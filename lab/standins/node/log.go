package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
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
	now := time.Now().UTC()
	if !l.production {
		fmt.Fprintf(l.to, "%s\t%s\t%s\n", now.Format("2006-01-02T15:04:05.000Z0700"), strings.ToUpper(level), message)
		return
	}
	line, _ := json.Marshal(struct {
		Level   string  `json:"level"`
		Time    float64 `json:"ts"`
		Message string  `json:"msg"`
		Process int     `json:"pid"`
		Version string  `json:"version"`
	}{level, float64(now.UnixMilli()) / 1000, message, os.Getpid(), l.version})
	fmt.Fprintf(l.to, "%s\n", line)
}

func (l logger) debug(format string, values ...any) { l.write("debug", format, values...) }
func (l logger) info(format string, values ...any)  { l.write("info", format, values...) }
func (l logger) warn(format string, values ...any)  { l.write("warn", format, values...) }
func (l logger) error(format string, values ...any) { l.write("error", format, values...) }

// fatal ends the program with exit code 1.
func (l logger) fatal(format string, values ...any) {
	l.write("fatal", format, values...)
	os.Exit(1)
}
