package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestErrorsEndWithTheirCallers(t *testing.T) {
	var out bytes.Buffer
	l := logger{to: &out, production: true}
	l.error("halting sync: fatal error: %s", errors.New("it diverged"))
	l.warn("error syncing trusted state. Error: %v", errors.New("connection refused"))
	lines := strings.Split(out.String(), "\n")
	var first, second struct{ Level, Caller, Msg, Stacktrace string }
	if json.Unmarshal([]byte(lines[0]), &first) != nil || json.Unmarshal([]byte(lines[1]), &second) != nil {
		t.Fatal(out.String())
	}
	if !strings.HasPrefix(first.Msg, "halting sync: fatal error: it diverged%!(EXTRA string=\n") || !strings.Contains(first.Msg, "log_test.go:") {
		t.Error(first.Msg)
	}
	if !strings.HasPrefix(first.Caller, "node/log_test.go:") || !strings.HasPrefix(first.Stacktrace, "rpc-lab/node.TestErrors") {
		t.Errorf("%+v", first)
	}
	if second.Level != "warn" || second.Msg != "error syncing trusted state. Error: connection refused" || second.Stacktrace != "" {
		t.Errorf("%+v", second)
	}
}
