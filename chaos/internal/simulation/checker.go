package simulation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
)

// The checkers of a schedule that no history needs, beside those of package check.
const (
	ByContract = "contract" // calls do what their documentation says
	ByLoad     = "load"     // no client asks all the time
)

// Checkers returns the names of all checkers that judge a schedule. Some findings of the run itself count as theirs.
func Checkers() []string {
	var names []string
	for _, c := range check.Catalog() {
		if !slices.Contains([]string{check.ByLeaks, check.ByCoverage, check.ByClients}, c.Name) {
			names = append(names, c.Name)
		}
	}
	return append(names, ByContract, ByLoad)
}

// Found is what a checker found.
type Found struct {
	By string
	check.Finding
	// At and Where say when and where the run itself found it. Where is "" if events of the history prove it.
	At    time.Duration
	Where string
	// Excused says that the faults break what the checker judges. Then nothing is wrong.
	Excused bool
}

func foundAt(at time.Duration, where, by, text string) Found {
	return Found{By: by, Finding: check.Finding{Text: text}, At: at, Where: where}
}

func (f Found) String() string {
	if f.Where == "" {
		return fmt.Sprintf("VIOLATION (%s): %s", f.By, f.Text)
	}
	return fmt.Sprintf("VIOLATION (%s): %s %s: %s", f.By, stamp(f.At), f.Where, f.Text)
}

// Wrong returns what is not excused.
func (r *Result) Wrong() []Found {
	return slices.DeleteFunc(slices.Clone(r.Found), func(f Found) bool { return f.Excused })
}

// By returns the checkers that found something that is not excused.
func (r *Result) By() (all []string) {
	for _, f := range r.Wrong() {
		if !slices.Contains(all, f.By) {
			all = append(all, f.By)
		}
	}
	return all
}

// Said returns the first finding of a checker that contains a text, "" if there is none.
func (r *Result) Said(by, text string) string {
	for _, f := range r.Wrong() {
		if f.By == by && strings.Contains(f.Text, text) {
			return f.String()
		}
	}
	return ""
}
