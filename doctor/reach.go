package doctor

import (
	"fmt"
	"slices"
	"strings"
)

var reachRules = []rule{
	{
		title: "does not answer", severity: Danger,
		when: "no connection, a refused login, or a connection that ended during the examination",
		why:  "It cannot vote, so fewer of the other masters may fail.",
		fix:  "redlock status; check the address, the password, the network, and the log of the server",
		check: func(e *exam) (hits []hit) {
			for _, m := range e.masters {
				if m.failure != nil {
					hits = append(hits, hit{node: m.name, observed: m.failure.Error()})
				}
			}
			return hits
		},
	},
	{
		title: "not examined", severity: Note,
		when: "the server refused a question (CONFIG on managed services, the rights of the user), or has too many keys",
		why:  "What these commands would have shown is unknown.",
		check: eachFix(func(_ *exam, m *master) (string, string) {
			var questions []string
			for _, r := range slices.Concat(m.refused, m.trial.unasked) {
				questions = append(questions, fmt.Sprintf("%s: %v", r.question, r.err))
			}
			return strings.Join(questions, "; "), "run redlock doctor once as a user who may ask this: ACL SETUSER doctor on " +
				">PASSWORD ~* &* +@all -@dangerous +info +config|get +client +slowlog +latency +acl|whoami +acl|dryrun"
		}),
	},
}
