package main

import (
	"database/sql"
	"fmt"
	"regexp"
	"sort"
	"strconv"
)

// migration is one step of a database's schema; its file's name is its id in gorp_migrations.
type migration struct{ id, statements string }

// migrationNumber is what the order of migrations goes by first: 00011.sql comes before 0011.sql, and names without a number come last.
var migrationNumber = regexp.MustCompile(`^\d+`)

// comesBefore is the order of rubenv/sql-migrate.
func comesBefore(one, other string) bool {
	first, second := migrationNumber.FindString(one), migrationNumber.FindString(other)
	if first == "" || second == "" {
		return first != "" || (second == "" && one < other)
	}
	a, _ := strconv.Atoi(first)
	b, _ := strconv.Atoi(second)
	return a < b || (a == b && one < other)
}

// knownMigrations returns the migrations of a database ("state" or "pool") that this program has, in their order.
func knownMigrations(database string) ([]migration, error) {
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
	sort.Slice(known, func(i, j int) bool { return comesBefore(known[i].id, known[j].id) })
	return known, nil
}

// migrate runs the missing migrations of a database. An unknown one is an error: the database is newer.
func migrate(database *sql.DB, known []migration) (int, error) {
	_, err := database.Exec(`create table if not exists gorp_migrations (id text not null primary key, applied_at timestamptz)`)
	if err != nil {
		return 0, err
	}
	applied, err := appliedMigrations(database)
	if err != nil {
		return 0, err
	}
	if err := unknownMigration(applied, known); err != nil {
		return 0, err
	}
	isApplied := map[string]bool{}
	for _, id := range applied {
		isApplied[id] = true
	}
	count := 0
	for _, step := range known {
		if isApplied[step.id] {
			continue
		}
		if err := runMigration(database, step); err != nil {
			return count, fmt.Errorf("%w handling %s", err, step.id)
		}
		count++
	}
	return count, nil
}

// unknownMigration is the real program's error for the first migration in the database, in their order, that it does not know.
func unknownMigration(applied []string, known []migration) error {
	isKnown := map[string]bool{}
	for _, step := range known {
		isKnown[step.id] = true
	}
	for _, id := range applied {
		if !isKnown[id] {
			return fmt.Errorf("Unable to create migration plan because of %s: unknown migration in database", id)
		}
	}
	return nil
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

// checkMigrations requires exactly the number of migrations that this version knows, whatever their names.
func checkMigrations(database *sql.DB, known []migration) error {
	applied, err := appliedMigrations(database)
	if err != nil {
		return fmt.Errorf("error getting migrations count: %w", err)
	}
	if len(applied) != len(known) {
		return fmt.Errorf("error the component needs to run %d migrations before starting. DB only contains %d migrations", len(known), len(applied))
	}
	return nil
}

// appliedMigrations returns the migrations in a database, in their order.
func appliedMigrations(database *sql.DB) ([]string, error) {
	rows, err := database.Query(`select id from public.gorp_migrations`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var applied []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		applied = append(applied, id)
	}
	sort.Slice(applied, func(i, j int) bool { return comesBefore(applied[i], applied[j]) })
	return applied, rows.Err()
}
