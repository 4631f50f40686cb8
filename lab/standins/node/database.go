package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	_ "github.com/lib/pq" // PostgreSQL
)

// url inserts user and password unchanged, as the real program does: `/ # % ?` and a space break it, and %41 is read as A.
// The real program sets no limit of its own to a connection: the kernel gives up after about two minutes.
func (c DBConfig) url() string {
	return fmt.Sprintf("postgres://%s:%s@%s:%s/%s?sslmode=disable&connect_timeout=120", c.User, c.Password, c.Host, c.Port, c.Name)
}

// open connects, so that wrong credentials and addresses fail at once.
func (c DBConfig) open() (*sql.DB, error) {
	database, err := sql.Open("postgres", c.url())
	if err != nil {
		return nil, c.withoutPassword(err)
	}
	database.SetMaxOpenConns(c.MaxConns)
	database.SetMaxIdleConns(10)
	ctx, cancel := context.WithTimeout(context.Background(), 130*time.Second)
	defer cancel()
	if err := database.PingContext(ctx); err != nil {
		database.Close()
		return nil, c.withoutPassword(err)
	}
	return database, nil
}

// withoutPassword keeps the password out of an error that quotes the connection URL.
func (c DBConfig) withoutPassword(err error) error {
	text := err.Error()
	if strings.Contains(text, "postgres://") {
		text = "cannot parse the connection URL of " + c.User + "@" + c.Host + ": user, password, host and name go into it unescaped"
	} else if c.Password != "" {
		text = strings.ReplaceAll(text, c.Password, "xxxxx")
	}
	return errors.New(text)
}
