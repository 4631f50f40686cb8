package main

import (
	"encoding/json"
	"testing"
)

func TestPendingBlockIsAboveTheLast(t *testing.T) {
	last := map[string]any{"number": "0x10", "hash": "0xab", "transactions": []json.RawMessage{json.RawMessage(`"0x1"`)}, "gasLimit": "0x5"}
	pending := pendingAbove(last, 16)
	delete(pending, "hash")
	answer, err := json.Marshal(pending)
	wanted := `{"gasLimit":"0x5","number":"0x11","parentHash":"0xab","transactions":[]}`
	if err != nil || string(answer) != wanted || last["number"] != "0x10" {
		t.Errorf("%s after %v: %v", answer, last, err)
	}
}
