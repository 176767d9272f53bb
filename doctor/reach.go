package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/redlock-go/redlock/internal/replyerr"
)

var reachRules = []rule{
	{
		id: NoAnswer, title: "does not answer", severity: Danger,
		when: "no connection, a refused login, or no answer at the end of the examination",
		why:  "It cannot vote, so fewer of the other masters may fail.",
		check: func(e *exam) (hits []hit) {
			for _, m := range e.masters {
				if m.failure != nil && !errors.Is(m.failure, errCluster) {
					text := m.failure.Error()
					fix := cmp.Or(m.fixFor(text),
						"`redlock status`; check the address, the password, the network, and the log of the server")
					hits = append(hits, hit{nodes: []string{m.name}, observed: text, fix: fix})
				}
			}
			return hits
		},
	},
	{
		id: NotExamined, title: "not examined", severity: Note,
		when: "the server refused a question: CONFIG on managed services, the rights of the user; or it is a wrapped Cluster",
		why:  "What the answers would have shown is unknown.",
		check: func(e *exam) (hits []hit) {
			for _, m := range e.masters {
				if errors.Is(m.failure, errCluster) {
					hits = append(hits, hit{nodes: []string{m.name}, observed: m.failure.Error(), fix: "nothing"})
				}
			}
			return append(hits, eachFix(refusedQuestions)(e)...)
		},
	},
	{
		id: SomeKeysSkipped, title: "not all keys were looked at", severity: Note,
		when: fmt.Sprintf("more than %d keys, or %d pages of `SCAN`, or than could be read in the ten seconds (`WithSpan`)",
			maxKeys, maxPages),
		why: "Locks without an end, or with a long TTL, may be among the others.",
		fix: "nothing; a master that has only locks has fewer keys",
		check: each(func(_ *exam, m *master) string {
			return ifSo(m.keys.more, fmt.Sprintf("%d keys were looked at", m.keys.seen))
		}),
	},
	{
		id: ForDevelopment, title: "is a master for development", severity: Note,
		when:  "`server_name` says that it is of `redlock dev` or `--embedded`. Its host, settings and keys are not examined",
		why:   "It runs in a process of redlock, keeps nothing on disk, and all of them end together.",
		fix:   "none is needed to develop; in production use redis-server, on separate hosts",
		check: each(func(_ *exam, m *master) string { return ifSo(m.develops(), "server_name is "+m.info["server_name"]) }),
	},
}

// refusedQuestions returns which questions a master refused.
func refusedQuestions(_ *exam, m *master) (observed, fix string) {
	fix = "nothing, if a managed service hides these commands; otherwise remove their rename-command from redis.conf"
	for _, r := range m.refused {
		if !replyerr.Is(r.err) { // a connection that ended, or was silent
			fix = "see its log, and run redlock doctor again"
		}
	}
	for _, r := range m.refused {
		if reasonFor(r.err) == forbiddenCommand {
			fix = "run redlock doctor once as a user who may ask this: ACL SETUSER doctor on >PASSWORD ~* &* +@all " +
				"-@dangerous +info +config|get +client +slowlog +latency +acl|whoami"
		}
	}
	return m.described(m.refused), fix
}

// fixes has what to do about an error of a connection or of a command of a lock, by a part of its text.
var fixes = []struct{ part, fix string }{
	{"WRONGPASS", "put the right user and password into the URL: redis://USER:PASSWORD@HOST"},
	{"NOAUTH", "put the user and the password into the URL: redis://USER:PASSWORD@HOST"},
	{"without any password", "leave the password out of the URL: the server has none"},
	{"DB index", "leave /N out of the URL, or raise databases in its redis.conf"},
	{"max number of clients", fixMaxClients},
	{"DENIED", "on its host: give it a password (requirepass), or bind and protected-mode no in a private network"},
	{"BUSY", "`SCRIPT KILL`, or `FUNCTION KILL`; then find the program that runs such scripts here"},
	{"OOM", fixMemory},
	{"MISCONF Errors writing to the AOF", fixFullDisk},
	{"MISCONF", fixSnapshot},
	{"READONLY", fixReplica},
	{"MASTERDOWN", fixReplica},
	{"NOREPLICAS", fixNeedsReplicas},
	{"CLUSTERDOWN", fixCluster},
	{"MOVED", fixCluster},
	{"LOADING", "wait"},
	{"needs a port with TLS", "write redis:// instead of rediss://, or give the TLS port of the server"},
	{"not one for TLS", "write redis:// instead of rediss://, or give the TLS port of the server"},
	{"asks for TLS", "write rediss:// instead of redis://, or give the port of the server without TLS"},
	{"has expired", "renew the certificate of the server, or correct the clock of this host"},
	{"x509: certificate is", "--tls-server-name with a name in the certificate, or write that name into the URL"},
	{"SANs", "--tls-server-name with a name in the certificate, or write that name into the URL"},
	{"unknown authority", "--tls-ca with the file of the authority that signed the certificate of the server"},
	{"remote error: tls", "--tls-cert and --tls-key with a certificate that the server trusts; its log says more"},
	{"certificate", "--tls-ca with the CA of the server, --tls-server-name; --tls-cert and --tls-key if it asks for them"},
	{
		"ended the connection without",
		"if it asks for TLS, write rediss:// instead of redis://; otherwise see its log, and its maxclients",
	},
	{"reset by peer", "if it asks for TLS, write rediss:// instead of redis://; otherwise see its log"},
	{"connection refused", "start it, or correct host and port in the URL"},
	{"no such host", "correct the host in the URL"},
	{"not a Redis server", "correct host and port in the URL"},
}

// forbidden matches the name of a command in an error reply that says that the user may not run it.
var forbidden = regexp.MustCompile(`NOPERM .* '([a-z|]+)' command`)

// unknownName matches the name of a command in an error reply that says that the server does not know it.
var unknownName = regexp.MustCompile("nknown command ['`]?([A-Za-z]+)")

// fixFor returns what to do about an error; "" if the text is not known.
func (m *master) fixFor(text string) string {
	if command := forbidden.FindStringSubmatch(text); command != nil {
		return m.grant(nil, "+"+command[1])
	}
	if command := unknownName.FindStringSubmatch(text); command != nil {
		return renamed([]refusal{{question: command[1]}})
	}
	for _, f := range fixes {
		if strings.Contains(text, f.part) {
			return f.fix
		}
	}
	return ""
}
