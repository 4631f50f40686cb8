package main

import (
	"crypto/sha256"
	"encoding/hex"
)

// fakeHash stands for Keccak-256, which Go's own library lacks; nobody in the lab computes one.
func fakeHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "0x" + hex.EncodeToString(sum[:])
}
