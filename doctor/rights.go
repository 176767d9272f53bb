package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/redlock-go/redlock/node"
)

var rightRules = []rule{
	{
		title: "a right is missing", severity: Danger,
		when: "the user may not execute a command of a lock on the scratch name, by its reply or by `ACL DRYRUN`",
		why:  "Locks of some kinds cannot be acquired, extended or released here.",
		check: ofTrial(func(m *master, r refusal) (string, bool) {
			forbidden, _ := node.MissingCommand(r.err)
			forbidden = forbidden || !node.IsReply(r.err) && slices.Contains(m.trial.dryRun, r)
			return fmt.Sprintf("give user %s the rights of docs/masters.md: ACL SETUSER %s ~redlock:* &redlock:* +COMMAND",
				m.userName(), m.userName()), forbidden
		}, func(m *master) []refusal { return slices.Concat(m.trial.refusals, m.trial.dryRun) }),
	},
	{
		title: "a command does not exist", severity: Danger,
		when: "a command of a lock is unknown to the server, as after `rename-command`",
		why:  "Locks of some kinds cannot be acquired, extended or released here.",
		check: ofTrial(func(_ *master, r refusal) (string, bool) {
			_, unknown := node.MissingCommand(r.err)
			return "remove its rename-command from redis.conf, or use a server that has the command", unknown
		}, func(m *master) []refusal { return m.trial.refusals }),
	},
	{
		title: "refuses locks", severity: Danger,
		when: "a command of a lock on the scratch name fails for another reason: " +
			"OOM, MISCONF, READONLY, NOREPLICAS, no answer",
		why: "It cannot vote.",
		check: ofTrial(func(_ *master, r refusal) (string, bool) {
			forbidden, unknown := node.MissingCommand(r.err)
			return "see the other findings, and docs/errors.md on this error", !forbidden && !unknown
		}, func(m *master) []refusal { return m.trial.refusals }),
	},
	{
		title: "waiters are not woken", severity: Warning,
		when: "`PUBLISH` or `SUBSCRIBE` fails, other than for the right to the channel of the scratch name",
		why:  "Waiters in other processes notice a release only when they ask again, up to a second later.",
		check: ofTrial(func(m *master, _ refusal) (string, bool) {
			return fmt.Sprintf("ACL SETUSER %s &redlock:* +publish +subscribe +unsubscribe", m.userName()), true
		}, func(m *master) []refusal { return m.trial.messages }),
	},
	{
		title: "has refused writes", severity: Warning,
		when:  "`errorstats` of OOM, MISCONF, READONLY, NOREPLICAS or BUSY",
		why:   "Since it started, or since CONFIG RESETSTAT, it refused commands, which may have cost its vote.",
		fix:   "find the cause in its log; afterwards CONFIG RESETSTAT",
		check: each(func(_ *exam, m *master) string { return m.errors("OOM", "MISCONF", "READONLY", "NOREPLICAS", "BUSY") }),
	},
	{
		title: "has refused commands", severity: Note,
		when: "`errorstats` of NOPERM or LOADING",
		why: "Since it started, or since CONFIG RESETSTAT, users lacked rights, or clients came while it was loading. " +
			"An earlier examination may be the cause.",
		fix:   "ACL LOG shows who lacked which right; afterwards CONFIG RESETSTAT",
		check: each(func(_ *exam, m *master) string { return m.errors("NOPERM", "LOADING") }),
	},
}

// ofTrial returns the check of a rule about the commands of the trial. of selects refusals, and matches reports whether
// the rule applies to one, with the fix.
func ofTrial(
	matches func(*master, refusal) (fix string, ok bool), of func(*master) []refusal,
) func(*exam) []hit {
	return eachFix(func(_ *exam, m *master) (observed, fix string) {
		var all []string
		for _, r := range of(m) {
			if f, ok := matches(m, r); ok {
				all, fix = append(all, fmt.Sprintf("%s: %v", r.question, r.err)), f
			}
		}
		return strings.Join(all, "; "), fix
	})
}

// userName returns the ACL user of the connection.
func (m *master) userName() string { return cmp.Or(m.trial.user, m.user, "USER") }

// errors returns the counts of the error replies that begin with these words.
func (m *master) errors(words ...string) string {
	var all []string
	for _, word := range words {
		if n := parseFields(m.info["errorstat_"+word], ",")["count"]; n != "" && n != "0" {
			all = append(all, fmt.Sprintf("%s: %s times", word, n))
		}
	}
	return strings.Join(all, ", ")
}
