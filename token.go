package redlock

import (
	"crypto/rand"
	"encoding/hex"
)

// tokenTail is the length of what follows a token's owner.
const tokenTail = 1 + 2*16

// newToken is the owner, for people, and 16 random bytes, for the masters.
func newToken(owner string) string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails since Go 1.24
	return owner + ":" + hex.EncodeToString(b[:])
}

// ownerOf is whose a token is; "" if it is none of ours.
func ownerOf(token string) string { return token[:max(0, len(token)-tokenTail)] }
