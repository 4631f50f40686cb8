package main

import (
	"encoding/binary"
	"encoding/hex"
	"math/bits"
)

// rate is the number of bytes that Keccak-256 absorbs at a time.
const rate = 136

var roundConstants, rotations, destinations = keccakConstants()

// keccakConstants derives the round constants from their shift register, and how far and where each lane moves (FIPS 202, 3.2).
func keccakConstants() (constants [24]uint64, rotations, destinations [25]int) {
	register := byte(1)
	for round := range constants {
		for bit := 0; bit < 7; bit++ {
			if register&1 == 1 {
				constants[round] |= 1 << (1<<bit - 1)
			}
			high := register >> 7
			register = register<<1 ^ high*0x71
		}
	}
	x, y := 1, 0
	for step := 0; step < 24; step++ {
		rotations[x+5*y] = (step + 1) * (step + 2) / 2 % 64
		x, y = y, (2*x+3*y)%5
	}
	for lane := range destinations {
		x, y := lane%5, lane/5
		destinations[lane] = y + 5*((2*x+3*y)%5)
	}
	return constants, rotations, destinations
}

func permute(a *[25]uint64) {
	for round := 0; round < 24; round++ {
		var c [5]uint64
		for x := range c {
			c[x] = a[x] ^ a[x+5] ^ a[x+10] ^ a[x+15] ^ a[x+20]
		}
		var b [25]uint64
		d := [5]uint64{
			c[4] ^ bits.RotateLeft64(c[1], 1), c[0] ^ bits.RotateLeft64(c[2], 1), c[1] ^ bits.RotateLeft64(c[3], 1),
			c[2] ^ bits.RotateLeft64(c[4], 1), c[3] ^ bits.RotateLeft64(c[0], 1),
		}
		for y := 0; y < 25; y += 5 {
			for x := range d {
				b[destinations[x+y]] = bits.RotateLeft64(a[x+y]^d[x], rotations[x+y])
			}
		}
		for y := 0; y < 25; y += 5 {
			row := [5]uint64{b[y], b[y+1], b[y+2], b[y+3], b[y+4]}
			a[y], a[y+1], a[y+2] = row[0]^^row[1]&row[2], row[1]^^row[2]&row[3], row[2]^^row[3]&row[4]
			a[y+3], a[y+4] = row[3]^^row[4]&row[0], row[4]^^row[0]&row[1]
		}
		a[0] ^= roundConstants[round]
	}
}

// keccak is Ethereum's hash. Go's standard library has only its standardised relative, SHA-3, whose padding differs.
func keccak(data []byte) (hash [32]byte) {
	padded := make([]byte, (len(data)/rate+1)*rate)
	copy(padded, data)
	padded[len(data)] ^= 0x01
	padded[len(padded)-1] ^= 0x80
	var state [25]uint64
	for ; len(padded) > 0; padded = padded[rate:] {
		for i := 0; i < rate/8; i++ {
			state[i] ^= binary.LittleEndian.Uint64(padded[8*i:])
		}
		permute(&state)
	}
	for i := 0; i < 4; i++ {
		binary.LittleEndian.PutUint64(hash[8*i:], state[i])
	}
	return hash
}

// selector is how call data names a contract's method: `chainID()` is 0xadc879e9.
func selector(signature string) string {
	hash := keccak([]byte(signature))
	return "0x" + hex.EncodeToString(hash[:4])
}

// topic is how a log names its event.
func topic(signature string) string {
	hash := keccak([]byte(signature))
	return "0x" + hex.EncodeToString(hash[:])
}
