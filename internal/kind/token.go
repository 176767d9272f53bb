package kind

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/redlock-go/redlock/internal/names"
)

// tokenTail is the length of a token without its owner.
const tokenTail = 1 + 2*16

// NewToken returns a new token: the owner, which people read, a colon, and 16 random bytes in hexadecimal.
func NewToken(owner string) string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails since Go 1.24
	return owner + ":" + hex.EncodeToString(b[:])
}

// OwnerOf returns the owner of a token or of a [KeptToken]; "" if no Locker made the token.
func OwnerOf(token string) string {
	return strings.TrimPrefix(token[:max(0, len(token)-tokenTail)], keptPrefix)
}

// HolderOf returns the owner of a token or of a [KeptToken], for people to read, without control characters. It returns
// "" if no Locker made the token: another client's value may be a secret.
func HolderOf(token string) string {
	owner, random := OwnerOf(token), token[max(0, len(token)-tokenTail):]
	if _, err := hex.DecodeString(strings.TrimPrefix(random, ":")); err != nil || !strings.HasPrefix(random, ":") {
		return ""
	}
	return names.Printable(owner)
}

// keptPrefix is how a KeptToken begins. No owner begins with it, so a KeptToken is never a holder's token.
const keptPrefix = "min-hold:"

// KeptToken returns the token of a name that stays taken after its holder, which had the given token, released it.
func KeptToken(token string) string { return keptPrefix + token }

// IsKept reports whether a token is a KeptToken.
func IsKept(token string) bool { return strings.HasPrefix(token, keptPrefix) }

// CheckOwner returns an error if a token cannot begin with the owner.
func CheckOwner(owner string) error {
	if IsKept(owner) {
		return fmt.Errorf("redlock: owner %q: it must not begin with %q, "+
			"which marks names that stay taken for a minimum hold", names.Truncate(owner), keptPrefix)
	}
	return names.CheckLength("owner", owner, MaxOwner)
}
