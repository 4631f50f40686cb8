package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWrongTypeSilentlyBecomesTheDefault(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.json")
	text := `{"dbNumberOfPoolConnections": "2000", "databaseURL": 7, "maxHashDBThreads": 300, "runHashDBServer": "false", "other": 1}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := loadConfig(path)
	if err != nil {
		t.Fatal(err)
	}
	if c.DBNumberOfPoolConnections != 30 || c.DatabaseURL != "local" || c.MaxHashDBThreads != 300 || !c.RunHashDBServer {
		t.Errorf("%+v", c)
	}
	if c.check() == nil {
		t.Error("300 + 20 + 1 threads on 30 connections")
	}
}

func TestEveryThreadNeedsAConnectionAndOneMore(t *testing.T) {
	for connections, fits := range map[int]bool{800: false, 801: true} {
		c := config{DBNumberOfPoolConnections: connections, MaxExecutorThreads: 500, MaxHashDBThreads: 300}
		if (c.check() == nil) != fits {
			t.Errorf("%d: %v", connections, c.check())
		}
	}
}

func TestOptionCountsOnlyAsFirstOfTwoArguments(t *testing.T) {
	for _, arguments := range [][]string{{}, {"-c"}, {"zkProver", "-c", "x"}, {"-c", "x", "y"}, {"x", "-c"}} {
		if path := configPath(arguments); path != "config.json" {
			t.Errorf("%q: %s", arguments, path)
		}
	}
	if path := configPath([]string{"-c", "x"}); path != "x" {
		t.Error(path)
	}
}

func TestMissingFlags(t *testing.T) {
	t.Setenv(flagsVariable, "sse2 avx2 adx")
	if missing := missingFlags(); len(missing) != 1 || missing[0] != "bmi2" {
		t.Error(missing)
	}
}
