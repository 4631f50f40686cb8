package main

import (
	"fmt"
	"os"
	"time"
)

// held keeps the connections open for as long as the program runs.
var held []connection

// openDatabase opens all connections of the pool, one after the other, and holds them; then, unless dbReadOnly is true, it creates its
// function in the first schema of the user's search path. It finds its table only if that schema is state. One connection that fails ends
// it.
func openDatabase(c config) error {
	started := time.Now()
	for len(held) < c.DBNumberOfPoolConnections {
		opened, err := connect(c.DatabaseURL)
		if err != nil {
			return fmt.Errorf("Database::initRemote() exception: %w", err)
		}
		held = append(held, opened)
	}
	fmt.Printf("opened %d connections to the database in %s\n", len(held), time.Since(started).Round(time.Millisecond))

	for _, table := range []string{c.DBNodesTableName, c.DBProgramTableName} {
		if err := held[0].exec(`select hash, data from ` + table + ` limit 1`); err != nil {
			return fmt.Errorf("table %s: %w", table, err)
		}
	}
	// No schema is named, neither for the function nor for its table.
	if !c.DBReadOnly {
		err := held[0].exec(`create or replace function get_tree_nodes(wanted bytea)
			returns setof bytea language sql as 'select data from nodes where hash = wanted'`)
		if err != nil {
			return fmt.Errorf("creating get_tree_nodes: %w", err)
		}
	}
	go keepOpen()
	return nil
}

// keepOpen reopens connections that a restart of the database has closed.
func keepOpen() {
	for ; ; time.Sleep(10 * time.Second) {
		for _, each := range held {
			if each.exec("") == nil {
				continue
			}
			if err := each.reopen(); err != nil {
				logLine(os.Stderr, "error", err.Error())
				break
			}
		}
	}
}
