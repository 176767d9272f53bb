package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/replyerr"
)

var rightRules = []rule{
	{
		id: MissingRight, title: "a right is missing", severity: Danger,
		when: "the user may not execute a command of a lock. Each is tried on the scratch name",
		why:  "Locks of some kinds cannot be acquired, extended or released here.",
		check: eachFix(func(_ *exam, m *master) (observed, fix string) {
			refused := m.refusedFor(forbiddenCommand)
			return m.described(refused), m.grant(refused, "+")
		}),
	},
	{
		id: MissingCommand, title: "a command does not exist", severity: Danger,
		when: "the server does not know a command of a lock, as after `rename-command`",
		why:  "Locks of some kinds cannot be acquired, extended or released here.",
		check: eachFix(func(_ *exam, m *master) (observed, fix string) {
			refused := m.refusedFor(unknownCommand)
			return m.described(refused), renamed(refused)
		}),
	},
	{
		id: MissingKeyPattern, title: "the right to a key is missing", severity: Danger,
		when: "the user may not use keys that begin with `redlock:` (scratch name, fences, intents), or may use only those",
		why:  "A lock needs a right to its name and, unless it is a mutex without fencing, to keys that begin with redlock:.",
		check: eachFix(func(_ *exam, m *master) (observed, fix string) {
			refused := m.refusedFor(forbiddenKey)
			if len(refused) == 0 && m.noName() {
				return fmt.Sprintf("only names that begin with redlock: can be locked: %v", m.trial.names), m.grant(nil, "~*")
			}
			return m.described(refused), m.grant(nil, "~redlock:*")
		}),
	},
	{
		id: UnknownNames, title: "the right to names is unknown", severity: Note,
		when: "the user may not use every key, and `ACL GETUSER` is refused, or lists patterns besides those that begin " +
			"with `redlock:`",
		why: "A name that fits none of the patterns of the user cannot be locked.",
		check: eachFix(func(_ *exam, m *master) (observed, fix string) {
			if m.trial.names == nil || m.noName() || len(m.refusedFor(forbiddenKey)) > 0 {
				return "", ""
			}
			return m.trial.names.Error(), fmt.Sprintf("nothing, if user %s has ~ and the prefix of your names; "+
				"otherwise %s", m.userName(), m.grant(nil, "~*"))
		}),
	},
	{
		id: RefusesLocks, title: "refuses locks", severity: Danger,
		when: "a command of a lock on the scratch name fails for another reason: " +
			"OOM, MISCONF, READONLY, NOREPLICAS, no answer",
		why: "It cannot vote.",
		fix: "see its log, and docs/errors.md on this error",
		check: eachFix(func(_ *exam, m *master) (observed, fix string) {
			refused := m.refusedFor(otherRefusal)
			if err := m.trial.failure; err != nil && !replyerr.Is(err) {
				refused = append(refused, refusal{"a lock", err})
				fix = ifSo(silent(err), "`CLIENT UNPAUSE`, if its clients are paused; otherwise see its log, and `SLOWLOG GET`")
			}
			if len(refused) > 0 {
				fix = cmp.Or(m.fixFor(refused[0].err.Error()), fix)
			}
			return m.described(refused), fix
		}),
	},
	{
		id: NoWakeup, title: "waiters are not woken", severity: Warning,
		when: "`PUBLISH` or `SUBSCRIBE` fails; a refused channel counts only if the user has no right to any channel that " +
			"begins with `redlock:`",
		why: "Waiters in other processes notice a release only when they ask again, up to a second later.",
		check: eachFix(func(_ *exam, m *master) (observed, fix string) {
			var refused []refusal
			of := map[reason][]refusal{}
			for _, r := range m.trial.messages {
				c := reasonFor(r.err)
				if c == forbiddenChannel && !m.noChannel() {
					continue // it may have the right to others
				}
				refused, of[c] = append(refused, r), append(of[c], r)
			}
			fix = "see its log, and what is between it and this host"
			switch {
			case of[unknownCommand] != nil:
				fix = renamed(of[unknownCommand])
			case of[forbiddenChannel] != nil:
				fix = m.grant(nil, "&redlock:*")
			case of[forbiddenCommand] != nil:
				fix = m.grant(of[forbiddenCommand], "+")
			}
			return m.described(refused), fix
		}),
	},
	{
		id: UnknownChannels, title: "the right to channels is unknown", severity: Note,
		when: "the channel of the scratch name is refused, and `ACL GETUSER` says nothing or that the user has others",
		why:  "If the channels of your locks are refused, waiters notice a release up to a second later.",
		check: eachFix(func(_ *exam, m *master) (observed, fix string) {
			var refused []refusal
			for _, r := range m.trial.messages {
				if reasonFor(r.err) == forbiddenChannel && !m.noChannel() {
					refused = append(refused, r)
				}
			}
			return m.described(refused), fmt.Sprintf("nothing, if user %s has &redlock: and the prefix of your names; "+
				"otherwise %s", m.userName(), m.grant(nil, "&redlock:*"))
		}),
	},
	{
		id: RefusedWrites, title: "has refused writes", severity: Warning,
		when:  "`errorstats` of OOM, MISCONF, READONLY, NOREPLICAS or BUSY",
		why:   "Since it started, or since CONFIG RESETSTAT, it refused commands, which may have cost its vote.",
		fix:   "find the cause in its log; afterwards `CONFIG RESETSTAT`",
		check: each(func(_ *exam, m *master) string { return m.errors("OOM", "MISCONF", "READONLY", "NOREPLICAS", "BUSY") }),
	},
	{
		id: RefusedCommands, title: "has refused commands", severity: Note,
		when:  "`errorstats` of NOPERM or LOADING",
		why:   "Since it started, users lacked rights, perhaps in an examination, or clients came while it was loading.",
		fix:   "`ACL LOG` shows who lacked which right; afterwards `CONFIG RESETSTAT`",
		check: each(func(_ *exam, m *master) string { return m.errors("NOPERM", "LOADING") }),
	},
}

// reason is why a server refused a command.
type reason int

const (
	otherRefusal reason = iota
	forbiddenCommand
	unknownCommand
	forbiddenKey
	forbiddenChannel
)

// reasonFor reads an error reply. The texts differ between versions of Redis, and inside scripts.
func reasonFor(err error) reason {
	text := err.Error()
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(text, p) })
	}
	forbidden, unknown := missingCommand(err)
	switch denied := forbidden || has("executing the script can't"); {
	case unknown:
		return unknownCommand
	case denied && has("one of the keys", "access a key", "of the keys mentioned"):
		return forbiddenKey
	case denied && has("channel"):
		return forbiddenChannel
	case denied:
		return forbiddenCommand
	default:
		return otherRefusal
	}
}

// missingCommand reports whether an error reply says that the user may not run a command (forbidden), or that the
// server does not know it (unknown).
func missingCommand(err error) (forbidden, unknown bool) {
	if !replyerr.Is(err) {
		return false, false
	}
	_, command := replyerr.Refusal(err)
	unknown = command && strings.Contains(err.Error(), "nknown")
	forbidden = command && !unknown || replyerr.HasPrefix(err, "NOPERM") || strings.Contains(err.Error(), "ACL failure")
	return forbidden, unknown
}

// refusedFor returns the commands of a lock that the master refused for a reason. The refusals of scripts are left out
// if those of commands explain them. Other refusals are returned once for each code.
func (m *master) refusedFor(why reason) (all []refusal) {
	codes := map[string]bool{}
	for _, r := range slices.Concat(m.trial.commands, m.trial.scripts) {
		code, _, _ := strings.Cut(r.err.Error(), " ")
		script := slices.Contains(m.trial.scripts, r)
		if reasonFor(r.err) != why || script && len(all) > 0 && why != otherRefusal || why == otherRefusal && codes[code] {
			continue
		}
		codes[code] = true
		all = append(all, r)
	}
	return all
}

// described returns which commands were refused, and the first error; "" if none was.
func (m *master) described(refused []refusal) string {
	if len(refused) == 0 {
		return ""
	}
	const few = 4
	names, more := questions(refused), ""
	if n := len(names) - few; n > 0 {
		names, more = names[:few], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("%s%s: %v", strings.Join(names, ", "), more, refused[0].err)
}

func questions(refused []refusal) (all []string) {
	for _, r := range refused {
		all = append(all, r.question)
	}
	return all
}

// grant returns the fix that gives the user of the connection the right to commands, or another right.
func (m *master) grant(refused []refusal, right string) string {
	rights := []string{right}
	if right == "+" {
		rights = nil
		for _, c := range questions(refused) {
			rights = append(rights, right+c)
		}
	}
	save := "ACL SAVE, or CONFIG REWRITE without an aclfile"
	switch file, known := m.config["aclfile"]; {
	case m.lacks("ACL"):
		save = "restart it"
	case m.lacks("CONFIG"):
		save = "ACL SAVE, or without an aclfile the same in redis.conf"
	case known:
		save = ifSo(file == "", "`CONFIG REWRITE`") + ifSo(file != "", "`ACL SAVE`")
	}
	command := fmt.Sprintf("ACL SETUSER %s %s", m.userName(), strings.Join(rights, " "))
	if m.user != "" {
		command = "`" + command + "`"
	}
	return command + "; then " + save
}

// renamed returns the fix for commands that the server does not know. No right helps.
func renamed(refused []refusal) string {
	return fmt.Sprintf("remove the rename-command of %s from its redis.conf and restart it, or use a server that has it",
		strings.ToUpper(strings.Join(questions(refused), ", ")))
}

// lacks reports whether the server is known not to know a command.
func (m *master) lacks(command string) bool {
	return command == "ACL" && m.trial.noACL || slices.ContainsFunc(m.refused, func(r refusal) bool {
		return strings.HasPrefix(r.question, command+" ") && reasonFor(r.err) == unknownCommand
	})
}

// noChannel reports whether the user is known to have no right to any channel that begins with "redlock:".
func (m *master) noChannel() bool {
	return m.trial.channels != nil && !slices.ContainsFunc(*m.trial.channels, func(pattern string) bool {
		literal, _, wild := strings.Cut(pattern+"*", "*")
		return strings.HasPrefix(literal, ours) || wild && strings.HasPrefix(ours, literal)
	})
}

// noName reports whether the user is known to have a right to no key but those that begin with "redlock:".
func (m *master) noName() bool {
	return m.trial.names != nil && m.trial.keys != nil && !slices.ContainsFunc(*m.trial.keys, func(pattern string) bool {
		return !strings.HasPrefix(pattern, "%") && !strings.HasPrefix(pattern, ours)
	})
}

// ours is how the channels of all names begin, and the keys that are not names.
var ours = kind.Channel("")

// userName returns the ACL user of the connection, or a placeholder, which makes a command one that cannot be typed.
func (m *master) userName() string { return cmp.Or(m.user, "USER") }

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
