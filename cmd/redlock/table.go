package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/redlock-go/redlock"
)

func table(to io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(to, 0, 0, 2, ' ', 0) }

// print writes the masters as a table, and how many of them may vote.
func (r mastersReport) print(to io.Writer, nodes []redlock.NodeStatus) {
	t := table(to)
	fmt.Fprintln(t, "MASTER\tREACHABLE\tROUND TRIP\tROLE\tVERSION\tUPTIME\tMAY VOTE")
	for _, n := range nodes {
		trip, uptime := "-", "-"
		if n.Reachable {
			trip = shortDuration(n.RoundTrip)
		}
		if n.RunID != "" {
			uptime = shortDuration(n.Uptime.Truncate(time.Second))
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			inline(n.Node), yesOrNo(n.Reachable), trip, orDash(n.Role), orDash(n.Version), uptime, mayVoteText(n))
	}
	_ = t.Flush()
	fmt.Fprintf(to, "%d of %d may vote, %d are needed\n", r.MayVote, r.Votes, r.Needed)
}

// mayVoteText returns whether a master may vote, or why not.
func mayVoteText(n redlock.NodeStatus) string {
	switch {
	case n.MayVote:
		return "yes"
	case n.VoteIn > 0: // the text of the error has the time, too
		return "in " + shortDuration(n.VoteIn) + ": restarted within the restart window and may have forgotten locks"
	default:
		return "no: " + reason(n.Err)
	}
}

// print writes each lock as a line, and below it each master's report.
func (r locksReport) print(to io.Writer) {
	for i, l := range r.Locks {
		if i > 0 {
			fmt.Fprintln(to)
		}
		l.print(to)
	}
}

func (r lockReport) print(to io.Writer) {
	switch {
	case r.Error != "":
		fmt.Fprintf(to, "%s: unknown, %s\n", quote(r.Name), r.Error)
	case !r.Held && r.partly():
		fmt.Fprintf(to, "%s: free or changing hands, no token has a majority\n", quote(r.Name))
	case !r.Held:
		fmt.Fprintf(to, "%s: free\n", quote(r.Name))
	case len(r.Holders)+r.Others == 0: // each hold of the owner is on other masters
		fmt.Fprintf(to, "%s: held (%s), but no hold has a majority\n", quote(r.Name), r.properties(holderReport{}))
	}
	for _, h := range r.Holders {
		token := ""
		if h.Token != "" {
			token = ", token " + shellWord(h.Token)
		}
		fmt.Fprintf(to, "%s: held by %s (%s), %s, %d of %d votes%s\n",
			quote(r.Name), owner(h.Token), r.properties(h), remaining(h.LeftMS), h.Votes, len(r.Nodes), token)
	}
	if r.Fence > 0 {
		fmt.Fprintf(to, "%s: the last fencing token was %d\n", quote(r.Name), r.Fence)
	}
	if r.Others > 0 {
		fmt.Fprintf(to, "%s: and %d others\n", quote(r.Name), r.Others)
	}
	t := table(to)
	for _, n := range r.Nodes {
		switch {
		case n.Error != "":
			fmt.Fprintf(t, "  %s\t%s\n", n.Node, n.Error)
		case n.Kind == "":
			fmt.Fprintf(t, "  %s\tfree\n", n.Node)
		case n.Fence == 0:
			fmt.Fprintf(t, "  %s\t%s\t%s\n", n.Node, inline(n.Kind), r.holdersOn(n))
		default:
			fmt.Fprintf(t, "  %s\t%s\t%s\tlast fence %d\n", n.Node, inline(n.Kind), r.holdersOn(n), n.Fence)
		}
	}
	_ = t.Flush()
}

// properties returns the kind of a lock, and its other properties with the slot of h.
func (r lockReport) properties(h holderReport) string {
	text := inline(r.Kind)
	if r.Slots > 0 {
		text += fmt.Sprintf(", slot %d of %d", h.Slot, r.Slots)
	}
	if r.Depth > 1 {
		text += fmt.Sprintf(", depth %d", r.Depth)
	}
	return text
}

// maxShownHolders is how many holders fit into a master's row. The lines above the rows and the JSON have more of them.
const maxShownHolders = 3

// holdersOn returns the holders on a master. The lines above have the tokens of those with a majority.
func (r lockReport) holdersOn(n voteReport) string {
	var all []string
	for _, h := range n.Holders {
		text := owner(h.Token) + " " + remaining(h.LeftMS)
		above := func(one holderReport) bool { return one.Token == h.Token }
		if h.Token != "" && !slices.ContainsFunc(r.Holders, above) {
			text += " (token " + shellWord(h.Token) + ")"
		}
		all = append(all, text)
	}
	if more := len(all) + n.Others - maxShownHolders; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:min(len(all), maxShownHolders)], ", "), more)
	}
	return strings.Join(all, ", ")
}

// partly reports whether some master knows of a holder.
func (r lockReport) partly() bool {
	for _, n := range r.Nodes {
		if n.Kind != "" {
			return true
		}
	}
	return false
}

func remaining(leftMS float64) string {
	if leftMS < 0 {
		return "no end"
	}
	return shortDuration(time.Duration(leftMS*float64(time.Millisecond))) + " left"
}

func yesOrNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return inline(s)
}
