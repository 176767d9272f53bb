package kind

import (
	"crypto/rand"
	"encoding/hex"
)

// tokenTail is the length of a token without its owner.
const tokenTail = 1 + 2*16

// NewToken returns a new token: the owner, which people read, a colon, and 16 random bytes in hexadecimal.
func NewToken(owner string) string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails since Go 1.24
	return owner + ":" + hex.EncodeToString(b[:])
}

// OwnerOf returns the owner of a token; "" if no Locker made the token.
func OwnerOf(token string) string { return token[:max(0, len(token)-tokenTail)] }

// KeptToken returns the token of a name that stays taken after its holder, which had the given token, released it.
func KeptToken(token string) string { return "min-hold:" + token }
