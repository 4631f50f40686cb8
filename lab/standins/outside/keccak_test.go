package main

import (
	"encoding/hex"
	"strings"
	"testing"
)

func TestKeccakOfKnownTexts(t *testing.T) {
	for text, wanted := range map[string]string{
		"":    "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470",
		"abc": "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45",
		// Longer than what is absorbed at a time.
		strings.Repeat("a", 200): "96ea54061def936c4be90b518992fdc6f12f535068a256229aca54267b4d084d",
	} {
		if hash := keccak([]byte(text)); hex.EncodeToString(hash[:]) != wanted {
			t.Errorf("%.10q: %x", text, hash)
		}
	}
	if selector("transfer(address,uint256)") != "0xa9059cbb" {
		t.Error(selector("transfer(address,uint256)"))
	}
}
