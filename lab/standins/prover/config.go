package main

import (
	"encoding/json"
	"fmt"
	"os"
)

type config struct {
	RunExecutorServer         bool
	RunHashDBServer           bool
	ExecutorServerPort        int
	HashDBServerPort          int
	DatabaseURL               string
	DBNodesTableName          string
	DBProgramTableName        string
	DBNumberOfPoolConnections int
	DBReadOnly                bool
	MaxExecutorThreads        int
	MaxHashDBThreads          int
}

// loadConfig reads the configuration. A key that is missing, or has a value of the wrong JSON type, silently has its default: so
// "2000" in quotes makes 30 connections, and a databaseURL that is not a string makes a store in memory.
func loadConfig(path string) (config, error) {
	c := config{}
	content, err := os.ReadFile(path)
	if err != nil {
		return c, fmt.Errorf("failed loading config file: %w", err)
	}
	var values map[string]any
	if err := json.Unmarshal(content, &values); err != nil {
		return c, fmt.Errorf("failed parsing config file %s: %w", path, err)
	}
	c.RunExecutorServer = value(values, "runExecutorServer", true)
	c.RunHashDBServer = value(values, "runHashDBServer", true)
	c.ExecutorServerPort = number(values, "executorServerPort", 50071)
	c.HashDBServerPort = number(values, "hashDBServerPort", 50061)
	c.DatabaseURL = value(values, "databaseURL", "local")
	c.DBNodesTableName = value(values, "dbNodesTableName", "state.nodes")
	c.DBProgramTableName = value(values, "dbProgramTableName", "state.program")
	c.DBNumberOfPoolConnections = number(values, "dbNumberOfPoolConnections", 30)
	c.DBReadOnly = value(values, "dbReadOnly", false)
	c.MaxExecutorThreads = number(values, "maxExecutorThreads", 20)
	c.MaxHashDBThreads = number(values, "maxHashDBThreads", 8)
	return c, nil
}

func value[T any](values map[string]any, name string, fallback T) T {
	if found, right := values[name].(T); right {
		return found
	}
	return fallback
}

func number(values map[string]any, name string, fallback int) int {
	return int(value(values, name, float64(fallback)))
}

// check requires a connection for every thread, and one more.
func (c config) check() error {
	if needed := c.MaxHashDBThreads + c.MaxExecutorThreads + 1; needed > c.DBNumberOfPoolConnections {
		return fmt.Errorf("dbNumberOfPoolConnections=%d is less than maxHashDBThreads=%d + maxExecutorThreads=%d + 1",
			c.DBNumberOfPoolConnections, c.MaxHashDBThreads, c.MaxExecutorThreads)
	}
	return nil
}
