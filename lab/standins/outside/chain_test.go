package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

func TestSequencerGoesOnWhereTheSnapshotEnds(t *testing.T) {
	made := chain{SnapshotTime: 1_700_000_000}
	serving := made
	serving.Started = made.SnapshotTime + margin + 3600
	if made.hash(snapshotBlock) != serving.hash(snapshotBlock) {
		t.Error("the snapshot's last block is another one for the sequencer")
	}
	if serving.parentHash(snapshotBlock+1) != made.hash(snapshotBlock) {
		t.Error("the next block does not follow it")
	}
	for number := uint64(1); number < snapshotBlock+lead+100; number++ {
		if serving.timeOf(number) <= serving.timeOf(number-1) {
			t.Fatalf("block %d is not later than the one before it", number)
		}
	}
	if now := time.Unix(serving.Started+100, 0); serving.timeOf(serving.head(now)) != now.Unix() || serving.head(now) != snapshotBlock+lead+50 {
		t.Errorf("head %d at %d", serving.head(now), serving.timeOf(serving.head(now)))
	}
}

func TestSequencerMadeAnewGoesOnWhereANodeAlreadyIs(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	c := chain{SnapshotTime: now.Unix() - 2*margin, Started: now.Unix()}
	c.goOnFrom(9000, now)
	if c.head(now) != 9000 || c.timeOf(9000) != now.Unix() || c.head(now.Add(10*time.Second)) != 9005 {
		t.Errorf("head %d at %d", c.head(now), c.timeOf(9000))
	}
}

// A sequencer that starts at the moment when the snapshot is made also has later blocks.
func TestLeadFitsIntoTheMargin(t *testing.T) {
	c := chain{SnapshotTime: 1_700_000_000, Started: 1_700_000_000 + margin}
	if c.timeOf(snapshotBlock+1) <= c.timeOf(snapshotBlock) {
		t.Error("time goes backwards after the snapshot")
	}
}

func TestForkDiffersFromItsFirstBlockOn(t *testing.T) {
	c := chain{Started: 1}
	forked := c
	forked.ForkedFrom = 5000
	if forked.hash(4999) != c.hash(4999) || forked.hash(5000) == c.hash(5000) {
		t.Error("fork")
	}
}

func TestGenesisFilesNameTheChain(t *testing.T) {
	for _, file := range []string{"www/genesis.json", "www/genesis_older.json"} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var genesis struct {
			Root     string
			L1Config struct{ ChainID uint64 }
			Genesis  []struct{ Address string }
		}
		if err := json.Unmarshal(content, &genesis); err != nil {
			t.Fatal(err)
		}
		if genesis.Root != genesisRoot || genesis.L1Config.ChainID != layer1ID || len(genesis.Genesis) == 0 {
			t.Errorf("%s: %+v", file, genesis)
		}
	}
}

func TestSnapshotHasAllColumns(t *testing.T) {
	var out bytes.Buffer
	c := chain{SnapshotTime: 1_740_000_000}
	if err := stateSnapshot(&out, c, 12); err != nil {
		t.Fatal(err)
	}
	fields := 0
	for _, line := range strings.Split(out.String(), "\n") {
		switch {
		case strings.HasPrefix(line, "COPY "):
			fields = strings.Count(line, ",") + 1
		case line == `\.`:
			fields = 0
		case fields > 0 && strings.Count(line, "\t") != fields-1:
			t.Fatalf("%d columns wanted: %s", fields, line)
		}
	}
}
