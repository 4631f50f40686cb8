package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lib/pq"
)

// url inserts user and password unchanged, as the real program does: `/ # % ?` and a space break it, and %41 is read as A.
// The real program sets no limit of its own to a connection: the kernel gives up after about two minutes.
func (c DBConfig) url(mode string) string {
	return fmt.Sprintf("postgres://%s:%s@%s:%s/%s?sslmode=%s&connect_timeout=120", c.User, c.Password, c.Host, c.Port, c.Name, mode)
}

// preferring connects as pgx, the real program's library, does without a word about it (sslmode=prefer): encrypted, whatever the
// certificate is, and in plain text where that fails and the server has not refused the user.
type preferring struct{ encrypted, plain driver.Connector }

func (p preferring) Driver() driver.Driver { return p.plain.Driver() }

func (p preferring) Connect(ctx context.Context) (driver.Conn, error) {
	connection, err := p.encrypted.Connect(ctx)
	var refusal *pq.Error
	if err == nil || (errors.As(err, &refusal) && isFinal(refusal.Code)) {
		return connection, err
	}
	return p.plain.Connect(ctx)
}

// isFinal tells the refusals after which pgx does not try again: no such user or database, wrong password, no right to connect.
func isFinal(code pq.ErrorCode) bool {
	return code == "28P01" || code == "28000" || code == "3D000" || code == "42501"
}

// open connects, so that wrong credentials and addresses fail at once.
func (c DBConfig) open() (*sql.DB, error) {
	encrypted, err := pq.NewConnector(c.url("require"))
	if err != nil {
		return nil, c.withoutPassword(err)
	}
	plain, err := pq.NewConnector(c.url("disable"))
	if err != nil {
		return nil, c.withoutPassword(err)
	}
	database := sql.OpenDB(preferring{encrypted, plain})
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
