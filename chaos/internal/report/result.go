package report

import (
	"fmt"
	"strings"

	"github.com/redlock-go/redlock/chaos/internal/check"
)

// A result is what a verdict means for a run. The headline, the table, the index and the text all show results, so they
// cannot disagree.
type result struct {
	Class, Sign, Word string // for the pages
	text              string // for verdict.txt
}

// result returns the result of a verdict. A run does not fail if a check that is excused does not hold.
func (r Run) result(v check.Verdict) result {
	excuse := r.Excused[v.Checker]
	switch {
	case len(v.Findings) > 0 && excuse != "":
		return result{"open", "✕", "broken", "broken, " + excuse}
	case len(v.Findings) > 0:
		return result{"bad", "✕", "violated", "VIOLATED"}
	case v.Undecided != "" && excuse != "":
		return result{"open", "?", "undecided", "undecided, " + excuse}
	case v.Undecided != "":
		return result{"open", "?", "undecided", "UNDECIDED"}
	default:
		return result{"good", "✓", "held", "held"}
	}
}

// summary returns the headline of a run: every check that did not hold, and how many held.
func summary(run Run) string {
	if len(run.Verdicts) == 0 {
		return "Nothing was checked."
	}
	var violated, undecided list
	excused := map[string]*list{}
	var excuses []string // in the order of the verdicts
	held := 0
	for _, v := range run.Verdicts {
		excuse := run.Excused[v.Checker]
		switch {
		case v.Held():
			held++
		case excuse != "":
			key := run.result(v).text
			if excused[key] == nil {
				excused[key] = &list{}
				excuses = append(excuses, key)
			}
			excused[key].add(v.Checker)
		case len(v.Findings) > 0:
			violated.add(v.Checker)
		default:
			undecided.add(v.Checker)
		}
	}
	parts := []string{
		violated.after("Violated"), undecided.after("Undecided"),
		list(run.Unseen).after("Held, although the scenario says that it breaks"),
	}
	if held == len(run.Verdicts) {
		parts = append(parts, fmt.Sprintf("All %s held.", plural(held, "check")))
	} else {
		parts = append(parts, fmt.Sprintf("%d of %d checks held.", held, len(run.Verdicts)))
	}
	for _, e := range excuses {
		parts = append(parts, excused[e].after(strings.ToUpper(e[:1])+e[1:]))
	}
	return strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
}

// A list is a list of names in a sentence.
type list []string

func (l *list) add(name string) { *l = append(*l, name) }

// after returns the sentence "what: names.", or "" if there are no names.
func (l list) after(what string) string {
	if len(l) == 0 {
		return ""
	}
	return what + ": " + strings.Join(l, ", ") + "."
}
