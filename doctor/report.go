package doctor

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// report applies all rules. The hits of one rule that have the same fix are one finding.
func (e *exam) report() Report {
	r := Report{Findings: []Finding{}, Summary: Summary{Masters: len(e.masters), Examined: e.examined()}}
	for _, rule := range rules() {
		for _, group := range rule.groups(e) {
			r.Findings = append(r.Findings, rule.finding(group))
		}
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return int(b.Severity) - int(a.Severity) })
	for _, f := range r.Findings {
		switch f.Severity {
		case Danger:
			r.Summary.Dangers++
		case Warning:
			r.Summary.Warnings++
		case Note:
			r.Summary.Notes++
		}
	}
	return r
}

// groups returns the hits of a rule. It joins those of single masters with the same fix and severity.
func (r rule) groups(e *exam) (all [][]hit) {
	for _, h := range r.check(e) {
		i := -1
		if len(h.nodes) == 1 {
			i = slices.IndexFunc(all, func(g []hit) bool {
				return len(g[0].nodes) == 1 && g[0].fix == h.fix && g[0].severity == h.severity && g[0].limits == h.limits
			})
		}
		if i < 0 {
			i, all = len(all), append(all, nil)
		}
		all[i] = append(all[i], h)
	}
	return all
}

// command matches a command in the text of a fix.
var command = regexp.MustCompile("`([^`]*)`")

// finding returns the finding for hits that have the same fix.
func (r rule) finding(hits []hit) Finding {
	f := Finding{ID: r.id, Severity: cmp.Or(hits[0].severity, r.severity), Title: r.title}
	f.Nodes, f.Commands = []string{}, []string{}
	for _, h := range hits {
		f.Nodes = append(f.Nodes, h.nodes...)
	}
	f.Node = strings.Join(f.Nodes, ", ")
	observed := hits[0].observed
	if slices.ContainsFunc(hits, func(h hit) bool { return h.observed != observed }) {
		observed = fmt.Sprintf("%s: %s", hits[0].nodes[0], observed)
	}
	f.Why = fitted(strings.TrimSuffix(observed, "."), ". "+r.why)
	fix := hits[0].limits.adapt(cmp.Or(hits[0].fix, r.fix))
	for _, c := range command.FindAllStringSubmatch(fix, -1) {
		f.Commands = append(f.Commands, c[1])
	}
	f.Fix = fitted(command.ReplaceAllString(fix, "$1"), "")
	return f
}

// configCommand and aclCommand match those commands in the text of a fix.
var configCommand, aclCommand = regexp.MustCompile("`(CONFIG [^`]*)`"), regexp.MustCompile("`(ACL [^`]*)`")

// adapt returns the fix without the commands that the server does not know.
func (l limits) adapt(fix string) string {
	file := "in redis.conf: "
	if l.noFile {
		file = "in its flags, or the settings of the service: "
	}
	if l.noACL {
		fix = aclCommand.ReplaceAllString(fix, "$1")
		fix = strings.ReplaceAll(fix, "ACL SETUSER ", file+"user ")
	}
	switch {
	case l.noConfig:
		fix = configCommand.ReplaceAllString(fix, "$1")
		fix = strings.Replace(fix, "CONFIG SET ", file, 1)
		fix = strings.NewReplacer("CONFIG SET ", "", "CONFIG REWRITE", "restart it",
			"afterwards CONFIG RESETSTAT", "a restart resets the count").Replace(fix)
	case l.noFile:
		fix = strings.ReplaceAll(fix, "`CONFIG REWRITE`", "set it in the flags of the server, too")
	}
	return fix
}

const (
	columns  = 80
	maxLines = 3
	indent   = "         "
	fixLabel = "fix: "
)

// String returns the finding as redlock doctor prints it: a head with severity, masters and title, then Why, then Fix,
// each in at most three lines of 80 columns. Control characters are replaced by question marks.
func (f Finding) String() string {
	who := cmp.Or(f.Node, "this process")
	for shown := len(f.Nodes) - 1; shown > 0 && len(f.head(who)) > maxLines; shown-- {
		who = fmt.Sprintf("%s and %d more", strings.Join(f.Nodes[:shown], ", "), len(f.Nodes)-shown)
	}
	lines := slices.Concat(f.head(who), wrapped(f.Why), wrapped(fixLabel+f.Fix))
	lines[0] = fmt.Sprintf("%-*s%s", len(indent), strings.ToUpper(f.Severity.String()), lines[0])
	return strings.Join(lines, "\n"+indent) + "\n"
}

func (f Finding) head(who string) []string { return wrapped(printable(who + ": " + f.Title)) }

// fitted returns a text of a server and one of ours that follows, without control characters. If they do not fit into
// three lines behind fixLabel, it cuts the server's off.
func fitted(text, ours string) string {
	runes := []rune(printable(text))
	whole := string(runes) + ours
	for len(runes) > 0 && len(wrapped(fixLabel+whole)) > maxLines {
		runes = runes[:len(runes)-1]
		whole = strings.TrimRight(string(runes), " .,") + "…" + strings.TrimPrefix(ours, ".")
	}
	return whole
}

// wrapped breaks a text into lines that leave room for the indent. It breaks between words, and only longer words
// within.
func wrapped(text string) (lines []string) {
	const width = columns - len(indent)
	var line []rune
	for word := range strings.FieldsSeq(text) {
		w := []rune(word)
		if len(line) > 0 && len(line)+1+len(w) > width {
			lines, line = append(lines, string(line)), nil
		}
		if len(line) > 0 {
			line = append(line, ' ')
		}
		line = append(line, w...)
		for len(line) > width {
			lines, line = append(lines, string(line[:width])), line[width:]
		}
	}
	return append(lines, string(line))
}

// printable replaces what is no text on a terminal, such as control characters that move the cursor.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
}
