// Package aof loses what a crashed master had not yet on its disk. A process that is killed loses nothing that it
// wrote, because the kernel has it; a machine that loses power does. So the loss is cut out of the append-only file
// before the master is started again.
package aof

import (
	"bytes"
	"strconv"
	"strings"
)

// Loss is what a crash takes of an append-only file.
type Loss string

const (
	// Nothing is lost: every write was synced before it was answered.
	Nothing Loss = "nothing"
	// Tail loses what was written in the last second in which anything was, and half a record before it ends.
	Tail Loss = "tail"
	// Everything is lost: the disk is new.
	Everything Loss = "everything"
)

// Dir is the folder of the append-only files of a master, in its own.
const Dir = "appendonlydir"

// Args are the redis-server flags that keep an append-only file with the given appendfsync, such that [Cut] can lose of
// it.
func Args(fsync string) []string {
	return []string{
		"--appendonly", "yes", "--appendfsync", fsync, "--appenddirname", Dir, "--aof-load-truncated", "yes",
		"--aof-timestamp-enabled", "yes", // where the last second begins
		"--auto-aof-rewrite-percentage", "0", // what was written stays where it can be cut
	}
}

// Cut returns what is left of a file in [Dir] after a loss.
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

// withoutBase leaves the base file out of a manifest, so that its master begins with nothing.
func withoutBase(manifest []byte) []byte {
	var kept []byte
	for line := range bytes.Lines(manifest) {
		if bytes.HasSuffix(bytes.TrimSpace(line), []byte("type i")) {
			kept = append(kept, line...)
		}
	}
	return kept
}

// torn is how much of the first lost record is left: a disk does not stop between two records.
const torn = 7

// tornAt returns where a file ends that has lost its last second: after the last timestamp, inside the record that
// follows it. A file without any is kept.
func tornAt(content []byte) int {
	cut := len(content)
	for at := 0; at < len(content); {
		next, stamp := record(content, at)
		if next <= at {
			break // torn already
		}
		if stamp {
			cut = min(next+torn, len(content))
		}
		at = next
	}
	return cut
}

// record returns where the record at a position ends, and whether it is a timestamp; 0 if it has no end.
func record(content []byte, at int) (next int, stamp bool) {
	head, next := line(content, at)
	switch {
	case next == 0:
		return 0, false
	case strings.HasPrefix(head, "#"):
		return next, strings.HasPrefix(head, "#TS:")
	case !strings.HasPrefix(head, "*"):
		return 0, false
	}
	words, err := strconv.Atoi(head[1:])
	if err != nil {
		return 0, false
	}
	for range words {
		var size string
		if size, next = line(content, next); !strings.HasPrefix(size, "$") {
			return 0, false
		}
		n, err := strconv.Atoi(size[1:])
		if err != nil || n < 0 || next+n+2 > len(content) {
			return 0, false
		}
		next += n + 2
	}
	return next, false
}

// line returns the line at a position, and where the next one begins; 0 if it does not end.
func line(content []byte, at int) (text string, next int) {
	i := bytes.Index(content[at:], []byte("\r\n"))
	if i < 0 {
		return "", 0
	}
	return string(content[at : at+i]), at + i + 2
}
