package kind

import (
	"fmt"
	"strings"

	"github.com/redlock-go/redlock/internal/names"
)

// CheckSlots returns an error if the names, or the sibling keys of a name, are in several slots of a Cluster: a
// script's keys must share a slot. cluster is the master's address.
func CheckSlots(cluster string, keys []string) error {
	for _, name := range keys {
		if Slot(name) != Slot(keys[0]) {
			return fmt.Errorf("redlock: master %s is a Cluster, and keeps %s in slot %d but %s in slot %d: "+
				"give the names one hash tag, as in %q and %q",
				cluster, names.Quote(keys[0]), Slot(keys[0]), names.Quote(name), Slot(name),
				"{tag}"+names.Truncate(keys[0]), "{tag}"+names.Truncate(name))
		}
		if Slot(FenceKey(name)) != Slot(name) || Slot(IntentKey(name)) != Slot(name) {
			return fmt.Errorf("redlock: master %s is a Cluster, and no sibling key of %s can share its slot: "+
				"leave out the braces, or put one pair around a part of the name",
				cluster, names.Quote(name))
		}
	}
	return nil
}

// Slot returns the slot in which a Cluster keeps a key: the CRC-16 (XMODEM) of its hash tag, modulo 16384.
func Slot(key string) uint16 {
	tag, _ := hashTag(key)
	var crc uint16
	for i := range len(tag) {
		crc ^= uint16(tag[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc % 16384
}

// hashTag returns the part of a key that a Cluster hashes: what is between the first opening brace and the next closing
// one. If that is missing or empty, hashTag returns the whole key and false. The source is
// https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/, "Hash tags".
func hashTag(key string) (tag string, ok bool) {
	if _, rest, found := strings.Cut(key, "{"); found {
		if tag, _, closed := strings.Cut(rest, "}"); closed && tag != "" {
			return tag, true
		}
	}
	return key, false
}
