package main

import (
	"database/sql"
	"embed"
	"fmt"
	"sort"
)

//go:embed migrations
var migrationFiles embed.FS

// migration is one step of a database's schema; its file name is its id in gorp_migrations.
type migration struct{ id, statements string }

// knownMigrations returns the first `most` migrations of a database ("state" or "pool"), or all of them if most is 0.
func knownMigrations(database string, most int) ([]migration, error) {
	folder := "migrations/" + database
	entries, err := migrationFiles.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var known []migration
	for _, entry := range entries {
		content, err := migrationFiles.ReadFile(folder + "/" + entry.Name())
		if err != nil {
			return nil, err
		}
		known = append(known, migration{entry.Name(), string(content)})
	}
	sort.Slice(known, func(i, j int) bool { return known[i].id < known[j].id })
	if most > 0 && most < len(known) {
		known = known[:most]
	}
	return known, nil
}

// migrate runs the missing migrations of a database. An unknown one is an error: the database is newer.
func migrate(database *sql.DB, known []migration) (int, error) {
	_, err := database.Exec(`create table if not exists gorp_migrations (id text primary key, applied_at timestamptz)`)
	if err != nil {
		return 0, err
	}
	applied, err := appliedMigrations(database)
	if err != nil {
		return 0, err
	}
	for _, step := range known {
		delete(applied, step.id)
	}
	for unknown := range applied {
		return 0, fmt.Errorf("Unable to create migration plan because of %s: unknown migration in database", unknown)
	}
	applied, err = appliedMigrations(database)
	if err != nil {
		return 0, err
	}
	count := 0
	for _, step := range known {
		if applied[step.id] {
			continue
		}
		if err := runMigration(database, step); err != nil {
			return count, fmt.Errorf("%s: %w", step.id, err)
		}
		count++
	}
	return count, nil
}

func runMigration(database *sql.DB, step migration) error {
	transaction, err := database.Begin()
	if err != nil {
		return err
	}
	defer func() { _ = transaction.Rollback() }()
	if _, err := transaction.Exec(step.statements); err != nil {
		return err
	}
	if _, err := transaction.Exec(`insert into gorp_migrations values ($1, now())`, step.id); err != nil {
		return err
	}
	return transaction.Commit()
}

// checkMigrations requires exactly the number of migrations that this version knows.
func checkMigrations(database *sql.DB, known []migration) error {
	applied, err := appliedMigrations(database)
	if err != nil {
		return fmt.Errorf("error getting migrations: %w", err)
	}
	if len(applied) != len(known) {
		return fmt.Errorf("error checking migrations: %d expected, %d found", len(known), len(applied))
	}
	return nil
}

func appliedMigrations(database *sql.DB) (map[string]bool, error) {
	rows, err := database.Query(`select id from gorp_migrations`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	applied := map[string]bool{}
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		applied[id] = true
	}
	return applied, rows.Err()
}
