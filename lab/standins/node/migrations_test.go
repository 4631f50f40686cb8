package main

import (
	"reflect"
	"strings"
	"testing"
)

var migrationsOf = map[string]map[string]string{
	"v1.2.3": {
		"state": "0001.sql 0002.sql 0003.sql 0004.sql 0005.sql 0006.sql 0007.sql 0008.sql",
		"pool": "0001.sql 0002.sql 0003.sql 0004.sql 0005.sql 0006.sql 0007.sql 0008.sql 0009.sql 0010.sql " +
			"supernets-0001.sql",
	},
	"v3.1.0": {
		"state": "0001.sql 0002.sql 0003.sql 0004.sql 0005.sql 0006.sql 0007.sql 0008.sql 0009.sql 0010.sql 0011.sql 0012.sql " +
			"0013.sql 0014.sql 0015.sql 0016.sql 0017.sql 0018.sql 0019.sql 0020.sql 0021.sql validium-001.sql",
		"pool": "0001.sql 0002.sql 0003.sql 0004.sql 0005.sql 0006.sql 0007.sql 0008.sql 0009.sql 0010.sql 00011.sql 0011.sql " +
			"00012.sql 0012.sql 0013.sql specialed-001.sql validium-001.sql",
	},
}

func TestAGenerationHasItsMigrationsInTheirOrder(t *testing.T) {
	for database, names := range migrationsOf[ownGeneration.version] {
		known, err := knownMigrations(database)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, step := range known {
			got = append(got, step.id)
		}
		if wanted := strings.Fields(names); !reflect.DeepEqual(got, wanted) {
			t.Errorf("%s: %v, wanted %v", database, got, wanted)
		}
	}
}

// The words are those of rubenv/sql-migrate.
func TestTheFirstUnknownMigrationInOrderEndsTheProgram(t *testing.T) {
	first := map[string]map[string]string{
		"v1.2.3": {"state": "0009.sql", "pool": "00011.sql"},
		"v3.1.0": {"state": "", "pool": "supernets-0001.sql"},
	}
	other := map[string]string{"v1.2.3": "v3.1.0", "v3.1.0": "v1.2.3"}[ownGeneration.version]
	for database, names := range migrationsOf[other] {
		known, err := knownMigrations(database)
		if err != nil {
			t.Fatal(err)
		}
		wanted := ""
		if id := first[ownGeneration.version][database]; id != "" {
			wanted = "Unable to create migration plan because of " + id + ": unknown migration in database"
		}
		got := ""
		if err := unknownMigration(strings.Fields(names), known); err != nil {
			got = err.Error()
		}
		if got != wanted {
			t.Errorf("a %s database of %s: %q", database, other, got)
		}
	}
}
