// Package aof removes from an append-only file what a crashed machine would have lost. A killed process loses nothing
// that it has written, because the kernel has it; a machine that loses power does. So the harness cuts the file before
// it starts the master again.
package aof

import (
	"bytes"
	"slices"
	"strings"
)

// Loss says what a crash loses.
type Loss string

const (
	// Nothing is lost, because every write was synced before its reply.
	Nothing Loss = "nothing"
	// Tail loses the last second of writes. The file ends inside a record.
	Tail Loss = "tail"
	// Everything is lost, as with a new disk, or because nothing is kept.
	Everything Loss = ""
)

// Fsync returns the appendfsync with which a crash loses that, if it does not lose everything.
func (l Loss) Fsync() string { return map[Loss]string{Nothing: "always", Tail: "everysec"}[l] }

// Dir is the name of the folder with a master's append-only files, inside the master's own folder.
const Dir = "appendonlydir"

// Args returns redis-server flags for an append-only file that [Cut] can shorten, with the given appendfsync.
func Args(fsync string) []string {
	return []string{
		"--appendonly", "yes", "--appendfsync", fsync, "--appenddirname", Dir, "--aof-load-truncated", "yes",
		"--aof-timestamp-enabled", "yes", // shows where the last second begins
		"--auto-aof-rewrite-percentage", "0", // keeps all writes in the incremental file
	}
}

// Cut returns the remaining content of a file in [Dir] after a loss.
func Cut(name string, content []byte, loss Loss) []byte {
	incremental := strings.HasSuffix(name, ".incr.aof")
	switch {
	case loss == Everything && incremental:
		return nil
	case loss == Everything && strings.HasSuffix(name, ".manifest"):
		return withoutBase(content)
	case loss == Tail && incremental:
		return content[:tornAt(content)]
	default:
		return content
	}
}

// withoutBase removes the base file from a manifest, so that the master starts empty.
func withoutBase(manifest []byte) []byte {
	var kept []byte
	for line := range bytes.Lines(manifest) {
		if bytes.HasSuffix(bytes.TrimSpace(line), []byte("type i")) {
			kept = append(kept, line...)
		}
	}
	return kept
}

// torn is the number of bytes of the first lost record that remain. A disk need not stop between two records.
const torn = 7

// tornAt returns the length of the file after the loss of its last second. The file then ends after the last timestamp,
// inside the next record. A file without timestamps keeps its length. No lock writes a value that begins as one does.
func tornAt(content []byte) int {
	end := []byte("\r\n")
	stamp := bytes.LastIndex(slices.Concat(end, content), []byte("\r\n#TS:"))
	if stamp < 0 {
		return len(content)
	}
	line, _, _ := bytes.Cut(content[stamp:], end)
	return min(stamp+len(line)+len(end)+torn, len(content))
}
