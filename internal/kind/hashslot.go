package kind

import (
	"fmt"

	"github.com/redlock-go/redlock/internal/names"
)

// CheckHashSlots returns an error if the names, or the sibling keys of a name, are in several hash slots of a Cluster:
// a script's keys must share one. cluster is the master's address.
func CheckHashSlots(cluster string, keys []string) error {
	for _, name := range keys {
		if HashSlot(name) != HashSlot(keys[0]) {
			return fmt.Errorf("redlock: master %s is a Cluster, and keeps %s in slot %d but %s in slot %d: "+
				"give the names one hash tag, as in %q and %q",
				cluster, names.Quote(keys[0]), HashSlot(keys[0]), names.Quote(name), HashSlot(name),
				"{tag}"+names.Truncate(keys[0]), "{tag}"+names.Truncate(name))
		}
		if HashSlot(FenceKey(name)) != HashSlot(name) || HashSlot(IntentKey(name)) != HashSlot(name) {
			return fmt.Errorf("redlock: master %s is a Cluster, and no sibling key of %s can share its slot: "+
				"leave out the braces, or put one pair around a part of the name",
				cluster, names.Quote(name))
		}
	}
	return nil
}

// HashSlot returns the hash slot in which a Cluster keeps a key: the CRC-16 (XMODEM) of its hash tag, modulo 16384.
func HashSlot(key string) uint16 {
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
