package kind

import "strings"

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
