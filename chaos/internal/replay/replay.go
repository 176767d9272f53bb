// Package replay holds histories of the code to the rules of the model of fencing: Spin follows each step that the code
// took, and must find it among the steps that model/fencing_rules.pml allows.
package replay

import (
	"fmt"
	"slices"
	"strings"
)

// An Op is what happened in a step, a name of model/replay.pml.
type Op int

// The steps.
const (
	Begin     Op = iota // a new history begins
	Ask                 // the first request of an attempt arrived at a master
	Grant               // the master granted the acquire with the number
	Write               // the client decided to write the number back
	Raise               // the master executed the write-back of the number, and answered with its counter
	Hold                // the client held the lock, with the number as its token
	Extend              // the master executed an extension with the number as its token
	Restart             // the master restarted
	Uncounted           // within the restart window the master executed something that left its counter at the number
)

// A Step is one step of a history of one name.
type Step struct {
	Op Op
	// Client is the index of the attempt. Each attempt of a client has a token of its own, and is a client of the model.
	Client int
	Master int
	// Number is the fencing token or the counter that Op names, and Answer the counter that a Raise returned.
	Number, Answer int64
	// Note says where the step is in the history.
	Note string
}

func (s Step) String() string {
	switch s.Op {
	case Begin:
		return s.Note
	case Ask:
		return fmt.Sprintf("client %d asks (%s)", s.Client, s.Note)
	case Grant:
		return fmt.Sprintf("master %d grants client %d the number %d (%s)", s.Master, s.Client, s.Number, s.Note)
	case Write:
		return fmt.Sprintf("client %d writes %d back (%s)", s.Client, s.Number, s.Note)
	case Raise:
		return fmt.Sprintf("master %d answers the write-back %d of client %d with %d (%s)",
			s.Master, s.Number, s.Client, s.Answer, s.Note)
	case Hold:
		return fmt.Sprintf("client %d holds the lock with token %d (%s)", s.Client, s.Number, s.Note)
	case Extend:
		return fmt.Sprintf("master %d extends the lock of client %d with token %d (%s)", s.Master, s.Client, s.Number, s.Note)
	case Restart:
		return fmt.Sprintf("master %d restarts (%s)", s.Master, s.Note)
	default:
		return fmt.Sprintf("master %d, within its restart window, has counter %d (%s)", s.Master, s.Number, s.Note)
	}
}

// A History has the steps of one name. The first is a Begin.
type History struct {
	Masters int
	Steps   []Step
}

// clients returns the number of attempts.
func (h History) clients() (n int) {
	for _, s := range h.Steps {
		n = max(n, s.Client+1)
	}
	return n
}

// ranked returns the steps with each number replaced by its rank among the history's numbers, from 1. The rules only
// compare numbers. Masters start at 0.
func (h History) ranked() []Step {
	all := []int64{0}
	for _, s := range h.Steps {
		all = append(all, s.Number, s.Answer)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	rank := func(n int64) int64 { i, _ := slices.BinarySearch(all, n); return int64(i) }
	steps := slices.Clone(h.Steps)
	for i, s := range steps {
		steps[i].Number, steps[i].Answer = rank(s.Number), rank(s.Answer)
	}
	return steps
}

// trace returns the text of trace.pml, which model/replay.pml includes.
func trace(masters int, histories []History) string {
	var clients int
	var steps []Step
	for _, h := range histories {
		clients = max(clients, h.clients())
		steps = append(steps, h.ranked()...)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "#define N %d\n#define CLIENTS %d\n#define STEPS %d\n", masters, clients, len(steps))
	for _, column := range []struct {
		name string
		of   func(Step) int64
	}{
		{"op", func(s Step) int64 { return int64(s.Op) }},
		{"client", func(s Step) int64 { return int64(s.Client) }},
		{"master", func(s Step) int64 { return int64(s.Master) }},
		{"number", func(s Step) int64 { return s.Number }},
		{"answer", func(s Step) int64 { return s.Answer }},
	} {
		texts := make([]string, len(steps))
		for i, s := range steps {
			texts[i] = fmt.Sprint(column.of(s))
		}
		fmt.Fprintf(&b, "hidden short %s[STEPS] = { %s };\n", column.name, strings.Join(texts, ", "))
	}
	return b.String()
}
