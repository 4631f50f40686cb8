package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	_ "github.com/lib/pq" // PostgreSQL
)

// held keeps the connections open for as long as the program runs.
var held []*sql.Conn

// openDatabase opens all connections of the pool, and holds them; then, unless dbReadOnly is true, it creates its function in the first
// schema of the user's search path. It finds its table only if that schema is state.
func openDatabase(c config) error {
	address, err := withoutTLS(c.DatabaseURL)
	if err != nil {
		return err
	}
	database, err := sql.Open("postgres", address)
	if err != nil {
		return errors.New("databaseURL is not a connection URL")
	}
	database.SetMaxIdleConns(c.DBNumberOfPoolConnections)
	started := time.Now()
	for len(held) < c.DBNumberOfPoolConnections {
		connection, err := database.Conn(context.Background())
		if err != nil {
			return fmt.Errorf("connection %d of %d to the database: %w", len(held)+1, c.DBNumberOfPoolConnections, err)
		}
		held = append(held, connection)
	}
	fmt.Printf("opened %d connections to the database in %s\n", len(held), time.Since(started).Round(time.Millisecond))

	for _, table := range []string{c.DBNodesTableName, c.DBProgramTableName} {
		if _, err := held[0].ExecContext(context.Background(), `select hash, data from `+table+` limit 1`); err != nil {
			return fmt.Errorf("table %s: %w", table, err)
		}
	}
	// No schema is named, neither for the function nor for its table.
	if !c.DBReadOnly {
		_, err = held[0].ExecContext(context.Background(), `create or replace function get_tree_nodes(wanted bytea)
			returns setof bytea language sql as 'select data from nodes where hash = wanted'`)
		if err != nil {
			return fmt.Errorf("creating get_tree_nodes: %w", err)
		}
	}
	go keepOpen(database)
	return nil
}

// keepOpen reopens connections that a restart of the database has closed.
func keepOpen(database *sql.DB) {
	for ; ; time.Sleep(10 * time.Second) {
		for i, connection := range held {
			if connection.PingContext(context.Background()) == nil {
				continue
			}
			connection.Close()
			fresh, err := database.Conn(context.Background())
			if err != nil {
				fmt.Println("ERROR: database:", err)
				break
			}
			held[i] = fresh
		}
	}
}

// withoutTLS connects without TLS, as PostgreSQL's own library does if a server has none.
func withoutTLS(address string) (string, error) {
	parsed, err := url.Parse(address)
	if err != nil || !strings.HasPrefix(parsed.Scheme, "postgres") {
		// The error itself would show the password.
		return "", errors.New("databaseURL is not a connection URL")
	}
	query := parsed.Query()
	if query.Get("sslmode") == "" {
		query.Set("sslmode", "disable")
	}
	parsed.RawQuery = query.Encode()
	return parsed.String(), nil
}
