package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// rule is one kind of finding. docs/doctor.md has a row for each.
type rule struct {
	id       ID
	title    string
	severity Severity
	when     string // the condition, for the documentation
	why      string // why it matters for a lock, in at most 120 characters
	fix      string // unless the hit has its own; the commands to type are in backquotes
	check    func(*exam) []hit
}

// hit is one place where a rule applies.
type hit struct {
	nodes    []string // as in Finding
	observed string   // what was observed, without a period
	fix      string
	severity Severity // 0: that of the rule
	limits   limits   // of the master
}

// limits say which commands of a fix cannot be typed.
type limits struct {
	noFile          bool // there is no configuration file: CONFIG REWRITE would fail
	noConfig, noACL bool // the server does not know CONFIG, or ACL, as after rename-command
}

// rules returns all rules, in the order of docs/doctor.md.
func rules() []rule {
	return slices.Concat(
		reachRules, evictionRules, roleRules, independenceRules, clockRules, persistenceRules, pauseRules,
		connectionRules, rightRules, neighborRules, serverRules, settingRules,
	)
}

// each returns the check of a rule about single masters. see returns what was observed on a master; "" if the rule does
// not apply to it. Masters that did not answer INFO are left out.
func each(see func(e *exam, m *master) string) func(*exam) []hit {
	return eachFix(func(e *exam, m *master) (string, string) { return see(e, m), "" })
}

// eachFix is [each] with a fix that depends on what was observed.
func eachFix(see func(e *exam, m *master) (observed, fix string)) func(*exam) []hit {
	return func(e *exam) (hits []hit) {
		for _, m := range e.masters {
			if m.info == nil {
				continue
			}
			if observed, fix := see(e, m); observed != "" {
				file, known := m.info["config_file"]
				l := limits{known && file == "", m.lacks("CONFIG"), m.lacks("ACL")}
				hits = append(hits, hit{nodes: []string{m.name}, observed: observed, fix: fix, limits: l})
			}
		}
		return hits
	}
}

// counted returns the check of a rule that applies where an INFO field is a number above 0.
func counted(field string) func(*exam) []hit {
	return each(func(_ *exam, m *master) string {
		if n := m.number(field); n > 0 {
			return fmt.Sprintf("%s is %d", field, n)
		}
		return ""
	})
}

// otherThan returns the check of a rule that applies where an INFO field has another value than that of a sound master.
func otherThan(field, sound string) func(*exam) []hit {
	return each(func(_ *exam, m *master) string {
		value := m.info[field]
		return ifSo(value != "" && value != sound, field+" is "+value)
	})
}

// slow returns what a rule about a duration observed: what took longer than the limit.
func slow(what string, took, limit time.Duration) string {
	if took <= limit {
		return ""
	}
	return fmt.Sprintf("%s took %v, and the node timeout is %v", what, took.Round(10*time.Microsecond), limit)
}

// number returns an INFO field as a number; 0 if it is missing.
func (m *master) number(field string) int64 {
	n, _ := strconv.ParseInt(m.info[field], 10, 64)
	return n
}

// setting returns a parameter of the server's configuration by its name in INFO or, if INFO does not have it, in CONFIG
// GET; "" if it is unknown.
func (m *master) setting(inInfo, inConfig string) string {
	if v, ok := m.info[inInfo]; ok {
		return v
	}
	return m.config[inConfig]
}

// configured returns a parameter that CONFIG GET has as a number; ok is false if it is unknown.
func (m *master) configured(name string) (n int64, ok bool) {
	n, err := strconv.ParseInt(m.config[name], 10, 64)
	return n, err == nil
}

// ifSo returns text if the condition holds.
func ifSo(condition bool, text string) string {
	if condition {
		return text
	}
	return ""
}
