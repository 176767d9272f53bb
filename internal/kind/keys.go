package kind

// Channel returns the channel on which the release of a name is published.
func Channel(name string) string { return "redlock:" + name }

// FenceKey returns the key of a name's counter of fencing tokens.
func FenceKey(name string) string { return siblingKey("fence", name) }

// IntentKey returns the key of the intents of a name's waiters.
func IntentKey(name string) string { return siblingKey("intents", name) }

// siblingKey returns a key that a Cluster keeps in the slot of the name. It has the hash tag of the name or, if the
// name has none, the whole name as its hash tag. Two names never have the same sibling key: a second colon follows the
// first only if the name has a hash tag.
func siblingKey(what, name string) string {
	if _, ok := hashTag(name); ok {
		return "redlock:" + what + "::" + name
	}
	return "redlock:" + what + ":{" + name + "}"
}
