package kind

import (
	"fmt"

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
