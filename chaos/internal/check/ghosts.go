package check

import (
	"fmt"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// Ghosts checks the locks of the phase Ghosts: each name that a client asked for while only a minority of the masters
// was frozen must have been acquired, and none that it asked for while a majority was.
func Ghosts(events []history.Event, masters int) Verdict {
	v := on(events, ByResidue)
	type want struct{ client, name string }
	var few, many []history.Event // the first of each want
	asked, got := map[want]bool{}, map[want]bool{}
	frozen := map[int]bool{}
	for _, e := range events {
		w := want{e.Client, e.Name}
		switch {
		case e.On == "masters":
			for _, m := range e.Targets {
				if e.Kind == history.Inject {
					frozen[m] = true
				} else {
					delete(frozen, m)
				}
			}
		case e.Phase != history.Ghosts:
		case e.Kind == history.Acquired:
			got[w] = true
		case e.Kind == history.Invoked && !asked[w] && len(frozen) > 0:
			asked[w] = true
			if len(frozen) > masters/2 {
				many = append(many, e)
			} else {
				few = append(few, e)
			}
		}
	}
	for _, e := range few {
		if !got[want{e.Client, e.Name}] {
			v.find(e.Name, []history.Event{e}, "%s did not get %q though only a minority of the masters was frozen",
				who(e.ID()), e.Name)
		}
	}
	for _, e := range many {
		if got[want{e.Client, e.Name}] {
			v.find(e.Name, []history.Event{e}, "%s got %q though a majority of the masters was frozen", who(e.ID()), e.Name)
		}
	}
	v.Looked = fmt.Sprintf("%d names asked for behind a frozen minority, %d behind a majority", len(few), len(many))
	return v
}
