package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func load(t *testing.T, own generation, text string) (Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "node.config.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return loadConfig(own, path)
}

func TestQuirksOfTheLoader(t *testing.T) {
	c, err := load(t, currentGeneration, `
		unknown = 1
		[Nobody]
		knows = "this"
		[rpc]
		port = 8123
		READTIMEOUT = "360s"
		BatchRequestsLimit = 1.5
		[StateDB]
		Host = "ignored"
		[State.DB]
		Port = 5432
		[State.Batch.Constraints]
		MaxSteps = 4294967296
		MaxTxsPerBatch = -1
	`)
	if err != nil {
		t.Fatal(err)
	}
	if c.RPC.Port != 8123 || c.RPC.ReadTimeout.Duration != 6*time.Minute {
		t.Errorf("keys without regard to case: %+v", c.RPC)
	}
	if c.RPC.BatchRequestsLimit != 1 {
		t.Errorf("a fraction is cut: %d", c.RPC.BatchRequestsLimit)
	}
	if c.State.DB.Host != "zkevm-state-db" || c.State.DB.Port != "5432" {
		t.Errorf("[StateDB] is ignored: %+v", c.State.DB)
	}
	limits := c.State.Batch.Constraints
	if limits.MaxSteps != 0 || limits.MaxTxsPerBatch != math.MaxUint64 {
		t.Errorf("numbers that do not fit wrap: %+v", limits)
	}
}

func TestFatalValues(t *testing.T) {
	for text, wanted := range map[string]string{
		"[RPC]\nReadTimeout = 1":              "expected a map, got 'int64'",
		"[RPC]\nReadTimeout = \"1\"":          "missing unit",
		"[RPC]\nReadTimeout = \"1d\"":         "unknown unit",
		"[Pool]\nGlobalQueue = \"6e6\"":       "invalid syntax",
		"[RPC]\nPort = 1\nPort = 2":           "already",
		"[State]\nDB = \"x\"":                 "expected a map, got 'string'",
		"[RPC]\nBatchRequestsEnabled = \"x\"": "invalid syntax",
	} {
		if _, err := load(t, currentGeneration, text); err == nil || !strings.Contains(err.Error(), wanted) {
			t.Errorf("%q: %v, wanted %q", text, err, wanted)
		}
	}
}

func TestEnvironmentComesFirst(t *testing.T) {
	t.Setenv("ZKEVM_NODE_STATE_DB_HOST", "elsewhere")
	c, err := load(t, currentGeneration, "[State.DB]\nHost = \"here\"")
	if err != nil || c.State.DB.Host != "elsewhere" {
		t.Errorf("%v %v", c.State.DB.Host, err)
	}
}

func TestFileThatIsNotFoundIsPassedOver(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "c.toml"), []byte("[State.DB]\nHost = \"here\""), 0o600); err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chdir(folder); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chdir(here) }()
	for path, host := range map[string]string{"c.toml": "zkevm-state-db", "./c.toml": "here", "./none.toml": "zkevm-state-db"} {
		if c, err := loadConfig(currentGeneration, path); err != nil || c.State.DB.Host != host {
			t.Errorf("%s: %v %v, wanted %s", path, c.State.DB.Host, err, host)
		}
	}
}

func TestOlderGenerationReadsStateDB(t *testing.T) {
	c, err := load(t, olderGeneration, "[StateDB]\nHost = \"here\"\n[State.DB]\nHost = \"ignored\"")
	if err != nil || c.State.DB.Host != "here" {
		t.Errorf("%v %v", c.State.DB.Host, err)
	}
}
