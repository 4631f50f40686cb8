package main

import (
	"crypto/sha256"
	"encoding/hex"
)

// fakeHash replaces Keccak-256, which Go's standard library lacks; nothing in the lab verifies one.
func fakeHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "0x" + hex.EncodeToString(sum[:])
}
